VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.PHONY: all demo test test-slow test-train lint bench clean
