"""Compare-and-count kernels: scores in, integer counts out."""
