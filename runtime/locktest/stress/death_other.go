//go:build unix && !linux

package stress

import "syscall"

// dieWithParent does nothing: only Linux has a parent-death signal that Go can ask for. Workers that
// were not stopped hear of the end of their input.
func dieWithParent(*syscall.SysProcAttr) {}
