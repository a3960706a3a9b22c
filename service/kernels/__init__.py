"""Kernels: which kernel is this IR?"""
