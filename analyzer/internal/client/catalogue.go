package client

import (
	"go/types"
	"sync"
)

// libraries are all catalogued packages.
var libraries = []*library{
	&sqlLibrary, &sqlDriverLibrary,
	&pgxLibrary, &pgxpoolLibrary, &pgconnLibrary, &pgxStdlibLibrary,
	&sqlxLibrary,
	&gormLibrary, &gormClauseLibrary, &gormV1Library,
	&bunLibrary,
	&xormLibrary,
	&entLibrary, &entSQLLibrary,
	&gopgLibrary, &gopgORMLibrary,
	&squirrelLibrary,
	&pglockLibrary, &pgxlockLibrary, &mysqllockLibrary,
	&goquLibrary, &goquExecLibrary, &goquExpLibrary,
}

type methodKey struct{ recv, name string }

type index struct {
	types   map[string]Type
	funcs   map[string]*Method
	methods map[methodKey]*Method
}

// catalogue is the rows by their full names. A name that has two rows is a mistake in a table, so
// it panics; this package's tests build the index.
var catalogue = sync.OnceValue(func() *index {
	ix := &index{map[string]Type{}, map[string]*Method{}, map[methodKey]*Method{}}
	for _, lib := range libraries {
		ix.add(lib)
	}
	return ix
})

func (ix *index) add(lib *library) {
	for _, t := range lib.types {
		t.Embeds = lib.embeds(t.Name)
		t.Name = lib.path + "." + t.Name
		if _, dup := ix.types[t.Name]; dup {
			panic("client: two rows for type " + t.Name)
		}
		ix.types[t.Name] = t
	}
	for _, m := range lib.funcs {
		m.Name = lib.path + "." + m.Name
		if ix.funcs[m.Name] != nil {
			panic("client: two rows for function " + m.Name)
		}
		ix.funcs[m.Name] = &m
	}
	for _, m := range lib.methods {
		m.Recv = lib.path + "." + m.Recv
		key := methodKey{m.Recv, m.Name}
		if ix.methods[key] != nil {
			panic("client: two rows for method " + m.Recv + "." + m.Name)
		}
		ix.methods[key] = &m
	}
}

// TypeOf gives the row of a type by the name that TypeName gives.
func TypeOf(name string) (Type, bool) {
	if t, ok := catalogue().types[name]; ok {
		return t, true
	}
	return declaredType(name)
}

// MethodOf gives the row of a method by a TypeName of the type that declares it, or of one that
// embeds that type; nil when there is none. The row's Recv is the declaring type.
func MethodOf(recv, name string) *Method {
	ix := catalogue()
	if m := ix.methods[methodKey{recv, name}]; m != nil {
		return m
	}
	for _, e := range ix.types[recv].Embeds {
		if m := MethodOf(e, name); m != nil {
			return m
		}
	}
	return nil
}

// FuncOf gives the row of a package-level function by the name that FuncName gives, nil when
// there is none.
func FuncOf(path string) *Method { return catalogue().funcs[path] }

// All gives every row, in no particular order.
func All() (types []Type, methods []*Method) {
	ix := catalogue()
	for _, t := range ix.types {
		types = append(types, t)
	}
	for _, m := range ix.funcs {
		methods = append(methods, m)
	}
	for _, m := range ix.methods {
		methods = append(methods, m)
	}
	return types, methods
}

// Of gives the row of a function or method, nil when there is none or when f is from a version of
// its library whose parameters the row does not fit.
func Of(f *types.Func) *Method {
	if m := Declared(f); m != nil {
		return m
	}
	sig := f.Signature()
	var m *Method
	if recv := sig.Recv(); recv != nil {
		m = MethodOf(TypeName(recv.Type()), f.Name())
	} else {
		m = FuncOf(FuncName(f))
	}
	if m == nil || m.Fits(sig) != nil {
		return nil
	}
	return m
}
