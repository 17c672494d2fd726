"""Secure aggregation: a server learns the sum of what many devices send, and nothing else [BIK17; BBG20].

The protocol does no input or output: a `Client` and a `Server` turn messages into messages, and all messages are bytes.
"""
