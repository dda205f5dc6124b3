//go:build unix

package testserver

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// childrenOf are the processes that pid has started and that it is still the parent of. PostgreSQL's are
// in process groups of their own, so that no signal to a group reaches them. Without /proc there are none:
// then they end by themselves when they see that the first process has.
func childrenOf(pid int) (children []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the only error is a malformed pattern
	for _, path := range paths {
		if fields := statOf(path); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// runs reports whether a process is there and no zombie: in a container, the first process may never
// collect those whose parent has ended.
func runs(pid int) bool {
	fields := statOf("/proc/" + strconv.Itoa(pid) + "/stat")
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

// statOf is what /proc/pid/stat says after the name of the program: state, parent and so on (proc(5)).
// The name may hold spaces and parentheses.
func statOf(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}
