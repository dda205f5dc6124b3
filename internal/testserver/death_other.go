//go:build unix && !linux

package testserver

import "syscall"

// dieWithParent does nothing: only Linux has a parent-death signal that Go can ask for.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
