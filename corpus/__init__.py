"""Words between rooms: the records, their files and formats, block and graph arithmetic, tokenizers."""
