// Package editor drives a language server as an editor does: over its standard input and output, with
// documents that are open and edited and not saved.
package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// Editor is one session with a server.
type Editor struct {
	cmd      *exec.Cmd
	conn     *jsonrpc2.Conn
	settings map[string]any

	mu        sync.Mutex
	changed   chan struct{} // closed, and made anew, when the server published something
	published map[string]Published
	versions  map[string]int
}

// Published is what the server last said of a document.
type Published struct {
	URI         string       `json:"uri"`
	Version     int          `json:"version"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Diagnostic is a finding as the protocol has it.
type Diagnostic struct {
	Range           Range  `json:"range"`
	Severity        int    `json:"severity,omitempty"`
	Code            any    `json:"code,omitempty"`
	CodeDescription *Href  `json:"codeDescription,omitempty"`
	Source          string `json:"source,omitempty"`
	Message         string `json:"message"`

	RelatedInformation []Related       `json:"relatedInformation,omitempty"`
	Data               json.RawMessage `json:"data,omitempty"`
}

// Href is where a diagnostic's code is explained.
type Href struct {
	Href string `json:"href"`
}

// Related is another place that a diagnostic speaks of.
type Related struct {
	Location struct {
		URI   string `json:"uri"`
		Range Range  `json:"range"`
	} `json:"location"`
	Message string `json:"message"`
}

// Range is a part of a document, and Position a place in it, counted from 0 in UTF-16.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Position is a place in a document.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// pipe makes one stream of a process's input and output.
type pipe struct {
	io.Reader
	io.WriteCloser
}

// Start starts the server at path with a folder opened, and the settings that the user has for it. env is
// added to this process's environment.
func Start(ctx context.Context, path, folder string, settings map[string]any, env ...string) (*Editor, error) {
	e := &Editor{
		cmd: exec.Command(path), settings: settings, changed: make(chan struct{}),
		published: map[string]Published{}, versions: map[string]int{},
	}
	e.cmd.Dir, e.cmd.Stderr = folder, os.Stderr
	e.cmd.Env = append(append(os.Environ(), "PWD="+folder), env...)
	in, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	stream := jsonrpc2.NewBufferedStream(pipe{out, in}, jsonrpc2.VSCodeObjectCodec{})
	e.conn = jsonrpc2.NewConn(ctx, stream, jsonrpc2.HandlerWithError(e.handle))
	params := map[string]any{
		"processId":        os.Getpid(),
		"rootUri":          URI(folder),
		"workspaceFolders": []any{map[string]any{"uri": URI(folder), "name": "folder"}},
		"capabilities": map[string]any{
			"workspace": map[string]any{"configuration": true, "workspaceFolders": true},
			"textDocument": map[string]any{
				"publishDiagnostics": map[string]any{
					"relatedInformation": true, "versionSupport": true, "codeDescriptionSupport": true, "dataSupport": true,
				},
				"codeAction": map[string]any{
					"codeActionLiteralSupport": map[string]any{"codeActionKind": map[string]any{"valueSet": []string{"quickfix"}}},
				},
			},
		},
	}
	if err := e.conn.Call(ctx, "initialize", params, nil); err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	return e, e.conn.Notify(ctx, "initialized", struct{}{})
}

// Process is the server's.
func (e *Editor) Process() *os.Process { return e.cmd.Process }

// Stop ends the session, and gives what the server's process used.
func (e *Editor) Stop(ctx context.Context) (*os.ProcessState, error) {
	if err := e.conn.Call(ctx, "shutdown", nil, nil); err != nil {
		return nil, fmt.Errorf("shutdown: %w", err)
	}
	if err := e.conn.Notify(ctx, "exit", nil); err != nil {
		return nil, fmt.Errorf("exit: %w", err)
	}
	err := e.cmd.Wait()
	_ = e.conn.Close() // the server has closed it, as a rule
	return e.cmd.ProcessState, err
}

// handle answers what the server asks, and keeps what it publishes.
func (e *Editor) handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
	switch r.Method {
	case "workspace/configuration":
		var asked struct{ Items []any }
		if err := json.Unmarshal(*r.Params, &asked); err != nil {
			return nil, err
		}
		answers := make([]any, len(asked.Items))
		for i := range answers {
			answers[i] = e.settings
		}
		return answers, nil
	case "textDocument/publishDiagnostics":
		var p Published
		if err := json.Unmarshal(*r.Params, &p); err != nil {
			return nil, err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.published[p.URI] = p
		close(e.changed)
		e.changed = make(chan struct{})
	}
	return nil, nil
}

// Await waits until what the server says of a file is what is wanted, and gives it; when the context
// ends before, it gives what the server said last.
func (e *Editor) Await(ctx context.Context, path string, wanted func(Published) bool) (Published, error) {
	for {
		e.mu.Lock()
		last, changed := e.published[URI(path)], e.changed
		e.mu.Unlock()
		if wanted(last) {
			return last, nil
		}
		select {
		case <-changed:
		case <-e.conn.DisconnectNotify():
			return last, fmt.Errorf("the server is gone; it said last: %+v", last)
		case <-ctx.Done():
			return last, fmt.Errorf("%w; the server said last: %+v", context.Cause(ctx), last)
		}
	}
}

// Open opens a file with a text, which need not be the one on disk.
func (e *Editor) Open(ctx context.Context, path, text string) error {
	e.versions[path] = 1
	return e.conn.Notify(ctx, "textDocument/didOpen", map[string]any{
		"textDocument": map[string]any{"uri": URI(path), "languageId": "go", "version": 1, "text": text},
	})
}

// Change gives an open file another text, and tells the number of the new version.
func (e *Editor) Change(ctx context.Context, path, text string) (int, error) {
	e.versions[path]++
	return e.versions[path], e.conn.Notify(ctx, "textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": URI(path), "version": e.versions[path]},
		"contentChanges": []any{map[string]any{"text": text}},
	})
}

// Diagnose waits until the server has looked at all of the files given, as gopls does by a command.
func (e *Editor) Diagnose(ctx context.Context, paths ...string) error {
	uris := make([]string, len(paths))
	for i, path := range paths {
		uris[i] = URI(path)
	}
	return e.execute(ctx, "gopls.diagnose_files", map[string]any{"Files": uris}, nil)
}

// Heap is how many bytes the server holds after a garbage collection.
func (e *Editor) Heap(ctx context.Context) (int64, error) {
	var stats struct{ HeapAlloc int64 }
	err := e.execute(ctx, "gopls.mem_stats", nil, &stats)
	return stats.HeapAlloc, err
}

func (e *Editor) execute(ctx context.Context, command string, argument, result any) error {
	params := map[string]any{"command": command}
	if argument != nil {
		params["arguments"] = []any{argument}
	}
	return e.conn.Call(ctx, "workspace/executeCommand", params, result)
}

// Action is something that the server offers to do.
type Action struct {
	Title       string       `json:"title"`
	Kind        string       `json:"kind"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	Edit        struct {
		DocumentChanges []struct {
			TextDocument struct {
				URI string `json:"uri"`
			} `json:"textDocument"`
			Edits []TextEdit `json:"edits"`
		} `json:"documentChanges"`
	} `json:"edit"`
	Command *struct {
		Command string `json:"command"`
	} `json:"command"`
}

// Actions gives the quick fixes for a diagnostic.
func (e *Editor) Actions(ctx context.Context, path string, d Diagnostic) ([]Action, error) {
	var actions []Action
	err := e.conn.Call(ctx, "textDocument/codeAction", map[string]any{
		"textDocument": map[string]any{"uri": URI(path)},
		"range":        d.Range,
		"context":      map[string]any{"diagnostics": []Diagnostic{d}, "only": []string{"quickfix"}},
	}, &actions)
	return actions, err
}

// URI is the address of a file.
func URI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
