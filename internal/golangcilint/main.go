// Golangcilint is golangci-lint with advisorylint's plugin built in, and the program on which the plugin
// is tested. It has golangci-lint's commands, flags and configuration:
//
//	go build -o custom-gcl .
//	custom-gcl run ./...
//
// The command custom of golangci-lint makes such a program too, but clones a repository for it.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"

	_ "github.com/advisorylint/advisorylint/analyzer/golangci"
)

func main() {
	info := commands.BuildInfo{
		GoVersion: runtime.Version(),
		// By this version golangci-lint takes the hash of the executable into the keys of its cache. Any
		// other would be the only thing in them that tells one build of the rules from the next.
		Version: "(devel)",
		Commit:  "(unknown)",
		Date:    "(unknown)",
	}
	if err := commands.Execute(info); err != nil {
		fmt.Fprintf(os.Stderr, "The command is terminated due to an error: %v\n", err)
		os.Exit(exitcodes.Failure)
	}
}
