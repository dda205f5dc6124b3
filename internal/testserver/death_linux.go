package testserver

import "syscall"

// dieWithParent makes the kernel stop the process when its parent ends: the second net below the
// watchdog, and the only one between a server's start and its note.
func dieWithParent(attr *syscall.SysProcAttr, stop syscall.Signal) {
	attr.Pdeathsig = stop
}
