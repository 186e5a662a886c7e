"""One module per verb: typed requests in, typed results out; nothing here prints or ends the process."""
