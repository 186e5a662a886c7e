"""Lightning on NPUs: there is no accelerator for them."""
