package oracle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	pg "github.com/sqlc-dev/oliphant"
	"github.com/sqlc-dev/oliphant/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

// compare holds the recogniser's reading of a text against the grammar's; it returns how many
// calls were compared, and reports false when the text is no PostgreSQL.
func compare(t *testing.T, sql string) (int, bool) {
	t.Helper()
	tree, err := pg.Parse(sql)
	if err != nil {
		return 0, false
	}
	s := sqltext.Parse(sqltext.Const(sql))
	if len(s.Stmts) != len(tree.Stmts) {
		t.Errorf("%d statements, the grammar finds %d:\n%s", len(s.Stmts), len(tree.Stmts), sql)
		return 0, true
	}
	n := 0
	for i, st := range tree.Stmts {
		want := expected(st.Stmt)
		var got []string
		for _, c := range s.Stmts[i].Calls {
			if !c.Nested {
				got = append(got, fmt.Sprintf("%s/%d limit=%d", c.Func.Name, len(c.Args), c.Limit))
				checkSpan(t, sql, c)
			}
		}
		sort.Strings(got)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("calls differ:\n%s\n got %v\nwant %v", sql, got, want)
		}
		n += len(want)
		if got, want := s.Stmts[i].Tx, txOf(st.Stmt); got != want {
			t.Errorf("transaction control %d, want %d:\n%s", got, want, sql)
		}
	}
	return n, true
}

func expected(n *ast.Node) []string {
	w := walk(n)
	var out []string
	for _, c := range w.calls {
		out = append(out, fmt.Sprintf("%s/%d limit=%d", c.fn.Name, len(c.args), w.limit(c)))
	}
	sort.Strings(out)
	return out
}

func checkSpan(t *testing.T, sql string, c sqltext.Call) {
	if c.Lit < 0 {
		return
	}
	if tree, err := pg.Parse("SELECT " + sql[c.Start:c.End]); err != nil || len(tree.Stmts) != 1 {
		t.Errorf("span %q is no expression: %v", sql[c.Start:c.End], err)
	}
}

func txOf(n *ast.Node) sqltext.TxOp {
	switch n.GetTransactionStmt().GetKind() {
	case ast.TransactionStmtKind_TRANS_STMT_BEGIN, ast.TransactionStmtKind_TRANS_STMT_START:
		return sqltext.Begin
	case ast.TransactionStmtKind_TRANS_STMT_COMMIT:
		return sqltext.Commit
	case ast.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		return sqltext.Rollback
	}
	return sqltext.NoTx
}

// corpus returns the texts that oliphant's own tests parse, PostgreSQL's regression suite
// among them.
func corpus(t *testing.T) []string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/sqlc-dev/oliphant").Output()
	if err != nil {
		t.Fatalf("find the module of the grammar: %v", err)
	}
	var texts []string
	root := filepath.Join(strings.TrimSpace(string(out)), "parser", "testdata", "parse")
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".test") {
			return err
		}
		data, err := os.ReadFile(path)
		texts = append(texts, sections(string(data))...)
		return err
	})
	if err != nil {
		t.Fatalf("read the corpus: %v", err)
	}
	return texts
}

// sections reads the inputs of a golden file: behind "== number", up to "--", where a | stands
// before a line that looks like one of these.
func sections(data string) []string {
	var texts, now []string
	in := false
	for _, line := range strings.Split(data, "\n") {
		switch {
		case strings.HasPrefix(line, "== "):
			in, now = true, nil
		case in && line == "--":
			in = false
			texts = append(texts, strings.Join(now, "\n"))
		case in:
			now = append(now, strings.TrimPrefix(line, "|"))
		}
	}
	return texts
}

func TestCorpus(t *testing.T) {
	texts := corpus(t)
	parsed, calls := 0, 0
	for _, sql := range texts {
		if len(sql) > sqltext.MaxLen {
			continue
		}
		n, ok := compare(t, sql)
		calls += n
		if ok {
			parsed++
		}
	}
	t.Logf("%d texts, %d parsed, %d lock calls", len(texts), parsed, calls)
	if parsed < 20000 || calls < 50 {
		t.Errorf("the corpus shrank: %d texts parsed, %d lock calls", parsed, calls)
	}
}

// plant puts a lock call with a number of its own into the select list of every SELECT below a
// node.
func plant(m protoreflect.Message, n *int) {
	if s, ok := m.Interface().(*ast.SelectStmt); ok && s.Op <= ast.SetOperation_SETOP_NONE && s.ValuesLists == nil {
		*n++
		call := pg.MakeFuncCallNode([]*ast.Node{pg.MakeStrNode("pg_advisory_lock")}, []*ast.Node{pg.MakeAConstIntNode(int64(*n), -1)}, -1)
		s.TargetList = append(s.TargetList, pg.MakeResTargetNodeWithVal(call, -1))
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := range v.List().Len() {
				plant(v.List().Get(i).Message(), n)
			}
		default:
			plant(v.Message(), n)
		}
		return true
	})
}

func TestCorpusWithALockInEverySelect(t *testing.T) {
	texts, planted, calls := 0, 0, 0
	for _, sql := range corpus(t) {
		tree, err := pg.Parse(sql)
		if err != nil || len(sql) > sqltext.MaxLen {
			continue
		}
		n := 0
		plant(tree.ProtoReflect(), &n)
		if n == 0 {
			continue
		}
		out, err := pg.Deparse(tree)
		if err != nil {
			continue
		}
		c, ok := compare(t, out)
		if ok {
			texts, planted, calls = texts+1, planted+n, calls+c
		}
	}
	t.Logf("%d texts, %d calls planted, %d of them executed and compared", texts, planted, calls)
	if calls < 5000 {
		t.Errorf("only %d calls were compared", calls)
	}
}
