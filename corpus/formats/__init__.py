"""Foreign trace formats, one file each: `read_*` gives sessions, `write_*` takes them."""
