"""The code and tool text prompts are made of: snippets with holes, in the kinds of text a coding agent reads.

`$a` to `$h` are names that stay the same within a block, `$w` is another word every time, `$n` a number of three
digits. Holes make up about a third of the tokens, so every block says something else in the same few grammars. A hole
follows a space, a line break or punctuation and is never followed by a letter or digit; apostrophes stay out, because
tokenizers look for English contractions behind them.
"""

from __future__ import annotations

from typing import Final

SNIPPETS: Final[tuple[str, ...]] = (
    # Python
    """def $a_$b($c, $d=$n):
    $e = [$w for $w in $c.$f() if $w.$g]
    for $h in $e:
        self.$w.append($h[$n])
    return $d or $e
""",
    """class $a($b):
    def __init__(self, $c: str, $d: int) -> None:
        super().__init__($c)
        self.$d = $d
        self.$w: dict[str, $w] = {}

    async def $e(self, $f: bytes) -> list[$g]:
        async with self.$h($f) as $w:
            return await $w.$c(timeout=$n)
""",
    """    with open($a / "$b.txt", encoding="utf-8") as $c:
        $d = json.load($c)
    if not isinstance($d, $e):
        raise ValueError(f"$a: $w $w is no $w")
    logger.info("$f $w", extra={ "$g": $d, "$h": $n})
""",
    """@pytest.mark.parametrize("$a", [$n, $n, $n])
def test_$b_$c_when_$d($a: int, tmp_path: Path) -> None:
    $e = $f($a, $g=tmp_path / "$w")
    assert $e.$h == $n
    assert "$w" not in $e.$w
""",
    """import $a
from $b.$c import $d, $e as $f

__all__ = ["$d", "$g"]
$h = $a.$w($n) | $d.$w
""",
    # TypeScript
    """export async function $a($b: $c, $d = $n): Promise<$e[]> {
  const $f = await this.$g.$h({ $b, $w: $d });
  if ($f.$w) {
    throw new Error(` $w $w: $w`);
  }
  return $f.$w.map( ($e) => $e.$w ?? $d);
}
""",
    """interface $a extends $b {
  readonly $c: string;
  $d?: Record<string, $e>;
  $f($g: number, $h: () => void): boolean;
}
const $w: $a = { $c: "$w", $f: ($g) => $g > $n };
""",
    """      <$a $b={ $c } $d="$w $w" onClick={() => $e($f)}>
        { $g.map( ($h) => (
          <$w key={ $h.id } $d={ $h.$w } />
        ))}
      </ $a>
""",
    # Go
    """func ($a $b) $c(ctx context.Context, $d []byte) ($e, error) {
    $f, err := $a.$g.$h(ctx, $d)
    if err != nil {
        return nil, fmt.Errorf("$w $w: %w", err)
    }
    $a.$w = append($a.$w, $f)
    return &$e{ $w: $f, $w: $n}, nil
}
""",
    """type $a struct {
    $b string `json:"$b"`
    $c map[string] $d `json:"$c,omitempty"`
    mu sync.Mutex
}
for $e, $f := range $g.$h {
    go func() { $w <- $f.$w($n) }()
}
""",
    # Rust
    """impl $a for $b {
    fn $c(&mut self, $d: &[u8]) -> Result<$e, $f> {
        let $g = self.$h.get($d).ok_or($f::$w)?;
        match $g.$w {
            $w::$w($n) => Ok($e::new($g.clone())),
            _ => Err($f::$w { $d: $d.len() }),
        }
    }
}
""",
    """pub struct $a<T> {
    $b: Vec<Option<T>>,
    $c: usize,
}
let $d: HashMap<_, _> = $e.iter().filter(| $f | $f.$g > $n).map(| $f | ($f.$h, $w)).collect();
assert_eq!($d.len(), $n);
""",
    # C and Java
    """static int $a_$b(struct $c $d, size_t $e)
{
    if ($d->$f == NULL || $e > $n)
        return -1;
    memcpy($d->$g, $h + $n, sizeof(*$d));
    $d->$w |= 1 << $e; /* $w $w $w */
    return $d->$w;
}
""",
    """#include <$a/$b.h>
#define $c_$d ($n + sizeof(struct $e))
typedef struct { uint32_t $f; char $g[$n]; } $h;
for (int $w = 0; $w < $n; $w++) $a($e, $w);
""",
    """public final class $a implements $b {
    private final Map<String, $c> $d = new HashMap<>();

    @Override
    public $c $e(String $f) throws $g {
        return $d.computeIfAbsent($f, $h -> new $c($h, $n));
    }
}
""",
    # SQL, YAML, TOML, Dockerfile
    """SELECT $a.$b, COUNT(*) AS $c
FROM $d AS $a
JOIN $e ON $e.$f = $a.$f
WHERE $a.$g > $n AND $e.$h = "$w"
GROUP BY $a.$b ORDER BY $c DESC LIMIT $n;
""",
    """services:
  $a:
    image: $b/$c:$n
    environment:
      - $d=$w
    depends_on: [$e, $f]
    command: ["$g", "$h", "$w"]
  $w:
    ports: ["$n:$n"]
""",
    """[$a.$b]
$c = "$d"
$e = [$n, $n]
$f = { path = "$g/$h", $w = true }
# $w $w $w $w
""",
    # JSON of tools
    """{"$a": "$b", "$c": {"$d": $n, "$e": ["$w", "$w"]}, "$f": null,
 "$g": [{"$h": "$w $w", "$w": true}, {"$h": "$w", "$w": $n}]}
""",
    """{"type": "object", "properties": {
  "$a": {"type": "string", "description": "$w $w the $w of $w."},
  "$b": {"type": "integer", "minimum": $n},
  "$c": {"enum": ["$d", "$e", "$f"]}
}, "required": ["$a", "$c"]}
""",
    # shell sessions
    """$ ls -la $a/$b
drwxr-xr-x  $n $c $d  $n $e
-rw-r--r--  $n $c $d  $n $f.json
-rw-r--r--  $n $c $d  $n $g_$h.py
$ wc -l $a/$b/$f.json
  $n $a/$b/$f.json
""",
    """$ grep -rn "$a" $b/ | head
$b/$c.py:$n: from $d import $a
$b/$e/$f.py:$n:     $a = $g($w)
$b/$h.md:$n: $w the $a $w before $w.
""",
    """$ git log --oneline -3
$n $a: $w the $b $w
$n Merge branch "$c" into $d
$n $e: do not $w $w when $f is $w
$ git status --short
 M $g/$h.py
?? $w/$w.md
""",
    """$ make $a
gcc -O2 -c $b.c -o $c/$b.o
$b.c:$n:$n: warning: unused variable "$d"
$b.c:$n:$n: error: expected ";" before "$e"
make: *** [Makefile:$n: $f] Error $n
""",
    # diffs
    """diff --git a/$a/$b.py b/$a/$b.py
--- a/$a/$b.py
+++ b/$a/$b.py
@@ -$n,$n +$n,$n @@ def $c($d):
     $e = $d.$f()
-    return $e.$g($n)
+    if $e.$h is None:
+        return $w
+    return $e.$g($n, $w=True)
""",
    """@@ -$n +$n @@
-  "$a": "$b",
+  "$a": "$c",
+  "$d": $n,
   "$e": {
-    "$f": [$n]
+    "$f": [$n, $n], "$g": "$h"
""",
    # logs and test runs
    """2026-03-$n INFO  $a $b.$c: $w $w in $n ms ($d=$n)
2026-03-$n WARN  $a $b.$e: $w $w, $w again in $n s
2026-03-$n ERROR $f $g.$h: $w: $w "$w" at offset $n
""",
    """Traceback (most recent call last):
  File "/srv/$a/$b.py", line $n, in $c
    $d = $e.$f($g)
  File "/srv/$a/$h.py", line $n, in $f
    raise $w("$w $w: $w")
$w: $w $w: $w
""",
    """tests/$a/test_$b.py::test_$c_$d PASSED
tests/$a/test_$b.py::test_$e_$f FAILED
    assert $g.$h == $n
    where $n = $w($w).$h
== $n failed, $n passed in $n s ==
""",
    """--- FAIL: $a ($n ms)
    $b_test.go:$n: got $c, want $d
ok   $e/$f   $n ms   coverage: $n of $w
?    $g/$h   [no $w files]
""",
    """GET /$a/$b?q=$n HTTP/1.1
Host: $d.example.org
Accept: application/$e

HTTP/1.1 $n $f
Content-Type: text/$g; $w=$w
$h: $w/$n
""",
    # prose
    """## $a the $b $c

The $d of $e is $w when $f changes, so $g must not $w before the $h.
- $w: $w $w, see $w/$w.md.
- **$w**: $n $w $w at most.
""",
    """I will look at $a first. The $b in $c/$d.py calls $e, and $f expects $g to be $w. Then I run the $h tests again.
""",
    """Done: $a now checks $b before it $w the $c. $n tests pass. One $d is left: the $e of $f still $w $w $g.
""",
    """<$a>
  <$b $c="$d">$w $w $w</ $b>
  <$e $f="$n"/>
  <!-- $g $h $w -->
</ $a>
""",
)

# Commands and prose without what JSON escapes, for text that travels as a JSON string inside a JSON string.
FLAT_SNIPPETS: Final[tuple[str, ...]] = (
    " cd $a/$b && git diff --stat $c..$d -- $e/$f.py;",
    " grep -rn $a $b/ --include $c | sort | head -n $n;",
    " sed -n $n $w $a/$b_$c.py && wc -l $d/$e.md;",
    " python -m pytest -q tests/$a/test_$b.py -k $c_$d --maxfail=$n;",
    " find $a -name $b -newer $c/$d.json | xargs grep -l $e;",
    " curl -s $a.example.org:$n/$b/$c?$d=$e | jq $f.$g;",
    " for $a in $b $c $d; do make $a $e=$n; done;",
    " read $a/$b/$c.ts from line $n to the end of $d;",
    " search for $a and $b in $c, leave out $d and $e;",
    " replace $a.$b($c) by $a.$d($e, $f) in $g/$h.go;",
    " look at how $a uses $b when $c is $w, then tell which $d to $w;",
    " docker run --rm -v $a $b $c/$d:$n $e $f $g;",
)
