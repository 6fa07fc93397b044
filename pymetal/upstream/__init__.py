"""A functor placed in a PyTorch checkout: files read through a `Checkout`, edits made as values, a `Patch` at the end.

`checkout` recognises the tree and holds its files, with the edits so far on top. `native_functions`, `kernel`,
`host_stub`, `legacy` and `test_lists` each edit one kind of file; `stubs` and `rows` say which rows of
`native_functions.yaml` go through which dispatch stub. `placement` puts them in order, `checks` looks at the result as
it would look at anyone's, and `edit` writes all files or none.
"""
