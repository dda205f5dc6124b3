package client

import (
	"go/types"
	"strings"
	"sync/atomic"

	"github.com/advisorylint/advisorylint/internal/settings"
)

// declared is what users say of types and functions that have no rows, by the name of the function
// ("import/path.Type.Method" for a method) or type.
type declared struct {
	said     *settings.Said
	types    map[string]Type
	funcs    map[string]settings.Wrapper
	packages map[string]bool
}

// declarations are made anew when something new is said.
var declarations atomic.Pointer[declared]

// kindNames are the words for kinds in settings.
var kindNames = map[string]Kind{"pool": Pool, "conn": Conn, "session": Session, "tx": Tx}

// allDeclared gives nil when nothing is said, which is nearly always.
func allDeclared() *declared {
	said := settings.AllSaid()
	if said == nil {
		return nil
	}
	if d := declarations.Load(); d != nil && d.said == said {
		return d
	}
	d := &declared{said, map[string]Type{}, map[string]settings.Wrapper{}, map[string]bool{}}
	for _, c := range said.Clients {
		name := fullName(c.Type)
		d.types[name] = Type{Name: name, Role: Handle, Kind: kindNames[c.Handle]}
		d.packages[packageOf(name)] = true
	}
	for _, w := range said.Wrappers {
		name := fullName(w.Func)
		d.funcs[name] = w
		d.packages[packageOf(name)] = true
	}
	declarations.Store(d)
	return d
}

// packageOf cuts the names behind the import path off. A version in the last element is part of the path:
// gopkg.in/store.v2.DB.
func packageOf(name string) string {
	slash := strings.LastIndexByte(name, '/') + 1
	pkg, rest, _ := strings.Cut(name[slash:], ".")
	if version, _, ok := strings.Cut(rest, "."); ok && isMajor(version) {
		pkg += "." + version
	}
	return name[:slash] + pkg
}

// fullName gives a user's name the form that TypeName and FuncName have.
func fullName(name string) string {
	pkg := packageOf(name)
	return Path(pkg) + name[len(pkg):]
}

func declaredType(name string) (Type, bool) {
	if d := allDeclared(); d != nil {
		t, ok := d.types[name]
		return t, ok
	}
	return Type{}, false
}

func declaredPackage(path string) bool {
	d := allDeclared()
	return d != nil && d.packages[path]
}

// Declared gives a row for a function or method of which a user says that it sends SQL, or that is a
// method of a type that is said to be a client and looks like what clients have; nil for others.
func Declared(f *types.Func) *Method {
	d := allDeclared()
	if d == nil || f.Pkg() == nil {
		return nil
	}
	recv := ""
	name := FuncName(f)
	if r := f.Signature().Recv(); r != nil {
		recv = TypeName(r.Type())
		name = recv + "." + f.Name()
	}
	if w, ok := d.funcs[name]; ok {
		return wrapped(w, f)
	}
	if t, ok := d.types[recv]; ok {
		return clientMethod(t.Kind, f)
	}
	return nil
}

// endings are the methods without parameters that end a handle, by its kind.
var endings = map[Kind]map[string]Ending{
	Pool:    {"Close": EndSession},
	Conn:    {"Close": Return, "Release": Return},
	Session: {"Close": EndSession},
	Tx:      {"Commit": CommitTx, "Rollback": RollbackTx},
}

// clientMethod is the row of a declared client's method, by its shape.
func clientMethod(kind Kind, f *types.Func) *Method {
	sig := f.Signature()
	m := Shape(f.Name(), sig)
	if ending, ok := endings[kind][f.Name()]; ok && m == nil {
		if n := sig.Params().Len(); n == 0 || n == 1 && isContext(sig.Params().At(0).Type()) {
			e := end(f.Name(), "", ending)
			m = &e
		}
	}
	if m == nil && sig.Results().Len() > 0 {
		if t, ok := TypeOf(TypeName(sig.Results().At(0).Type())); ok && t.Role == Handle {
			d := derive(f.Name(), "", t.Kind)
			m = &d
		}
	}
	return m
}

// wrapped is the row of a function that a user says sends SQL; nil when its parameters do not fit that.
func wrapped(w settings.Wrapper, f *types.Func) *Method {
	sig := f.Signature()
	m := row(f.Name(), Send, "")
	m.To = kindNames[w.Handle]
	if w.SQL != nil {
		m.SQL = *w.SQL
	}
	for i := range sig.Params().Len() {
		switch t := sig.Params().At(i).Type(); {
		case m.Ctx == NoArg && isContext(t):
			m.Ctx = i
		case w.SQL == nil && m.SQL == NoArg && isString(t):
			m.SQL = i
		case m.SQL == NoArg || i < m.SQL:
			before(&m, i, t, sig.Recv() == nil)
		case i == m.SQL+1 && isMany(t):
			m.Args = i
		}
	}
	m.Answer = wrappedAnswer(&m, sig.Results())
	if m.SQL == NoArg || m.Fits(sig) != nil {
		return nil
	}
	return &m
}

// before sorts a parameter that stands before the text: a function's handle, or where the answer goes.
func before(m *Method, i int, t types.Type, function bool) {
	if it, ok := t.Underlying().(*types.Interface); ok && it.Empty() {
		m.Dest = i
	} else if function && m.Handle == NoArg && notBasic(t) {
		m.Handle = i
	}
}

func wrappedAnswer(m *Method, results *types.Tuple) Answer {
	switch {
	case m.Dest != NoArg:
		return Dest
	case results.Len() == 0 || isError(results.At(0).Type()):
		return Lost
	}
	name := TypeName(results.At(0).Type())
	if t, ok := TypeOf(name); ok {
		switch {
		case t.Role == Handle:
			return Chain
		case strings.HasSuffix(name, "Rows"):
			return Rows
		case strings.HasSuffix(name, "Row"):
			return Row
		case t.Role == Results:
			return Tag
		}
	}
	return Value
}
