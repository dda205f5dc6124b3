package stress

import "syscall"

// dieWithParent makes the kernel kill a worker, also a stopped one, whose parent has ended.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
