"""A corpus as a dataset that strangers load in one line: tables of whole rows beside the corpus itself."""
