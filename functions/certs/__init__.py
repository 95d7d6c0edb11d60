"""Certificates of the servers that kube-apiserver calls: made, renewed, and their authority rotated with an overlap."""
