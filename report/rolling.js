// Rows that are made when they come into sight: `box` scrolls, `body` holds them between two spacers of the kind `tag`.

function rolling(box, body, tag, height) {
  const above = make(tag, null, body), below = make(tag, null, body), nodes = new Map();
  let count = 0, build = null;
  function fill() {
    const from = Math.max(0, Math.floor(box.scrollTop / height) - 20);
    const to = Math.min(count, from + Math.ceil((box.clientHeight || 400) / height) + 40);
    for (const [n, node] of nodes) if (n < from || n >= to) { node.remove(); nodes.delete(n); }
    let next = above.nextSibling; // those that stay are left where they are, or they would lose the focus
    for (let n = from; n < to; n++) {
      if (!nodes.has(n)) nodes.set(n, build(n));
      if (nodes.get(n) === next) next = next.nextSibling; else body.insertBefore(nodes.get(n), next);
    }
    above.style.height = `${from * height}px`;
    below.style.height = `${(count - to) * height}px`;
  }
  box.addEventListener("scroll", fill);
  return {
    show(many, make_) {
      for (const node of nodes.values()) node.remove();
      nodes.clear();
      [count, build] = [many, make_];
      fill();
    },
    reveal(n) {
      const top = n * height;
      if (top < box.scrollTop + height || top > box.scrollTop + box.clientHeight - 2 * height) box.scrollTop = top - box.clientHeight / 2;
      fill();
    },
  };
}
