"""A PyTorch checkout as values: files read through a `Checkout`, edits made on top of them, a `Patch` at the end.

`planner` decides what to do, as a `plan.Plan`, and runs its table of editors: `kernel` (.metal), `host_stub` (.mm),
`dispatch_table` (native_functions.yaml), `legacy` (MPSGraph code), `inductor`, `test_lists` and `aoti_shims`, one for
each kind of file. `stubs` and `rows` say which rows of `native_functions.yaml` go through which dispatch stub.
`placement` is what a run did, `checks` looks at the result as it would look at anyone's, `report` describes it, and
`edit` writes all files or none.
"""
