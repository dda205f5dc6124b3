package check

import (
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"

	"golang.org/x/tools/go/packages"
)

// places says where the positions in a value are, in the order in which a walk meets them.
type places struct {
	Files []string
	At    []placeEntry
}

type placeEntry struct{ File, Offset int } // File counts from 1 in Files; 0 is no position

// note adds the places of what v points to; not ok when one is in no file of the packages that were listed.
func (r *run) note(all *places, v any) (ok bool) {
	ok = true
	newWalk(func(v reflect.Value) {
		pos := token.Pos(v.Int())
		if !pos.IsValid() {
			all.At = append(all.At, placeEntry{})
			return
		}
		file := r.fset.File(pos)
		if file == nil || !r.sources[file.Name()] {
			ok = false
			return
		}
		i := slices.Index(all.Files, file.Name())
		if i < 0 {
			i = len(all.Files)
			all.Files = append(all.Files, file.Name())
		}
		all.At = append(all.At, placeEntry{i + 1, file.Offset(pos)})
	}).visit(reflect.ValueOf(v))
	return ok
}

// finder gives the positions of places, one after the other.
type finder struct {
	*run
	places
	wrong bool // one could not be found
}

func (r *run) find(p places) *finder { return &finder{r, p, false} }

// restore gives the positions in what v points to their places. Files of pkg, unless it is nil, are parsed for them
// and become its syntax.
func (f *finder) restore(v any, pkg *packages.Package) {
	newWalk(func(v reflect.Value) {
		if len(f.At) == 0 {
			f.wrong = true
			return
		}
		at := f.At[0]
		f.At = f.At[1:]
		v.SetInt(int64(f.position(at, pkg)))
	}).visit(reflect.ValueOf(v))
}

// done reports whether all places were found and there are no others.
func (f *finder) done() bool { return !f.wrong && len(f.At) == 0 }

func (f *finder) position(at placeEntry, pkg *packages.Package) token.Pos {
	if at.File == 0 {
		return token.NoPos
	}
	if at.File > len(f.Files) {
		f.wrong = true
		return token.NoPos
	}
	file := f.file(f.Files[at.File-1], pkg)
	if file == nil || at.Offset > file.Size() {
		f.wrong = true
		return token.NoPos
	}
	return file.Pos(at.Offset)
}

// file gives a file that positions are in; nil when it cannot be read.
func (f *finder) file(name string, pkg *packages.Package) *token.File {
	parsed := pkg != nil && slices.Contains(pkg.GoFiles, name)
	if parsed {
		for _, syntax := range pkg.Syntax {
			if file := f.fset.File(syntax.FileStart); file.Name() == name {
				return file
			}
		}
	} else if file := f.lines[name]; file != nil {
		return file
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	if !parsed && !movesLines(text) {
		file := f.fset.AddFile(name, -1, len(text))
		file.SetLinesForContent(text)
		f.lines[name] = file
		return file
	}
	syntax, err := parser.ParseFile(f.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	file := f.fset.File(syntax.FileStart)
	if parsed {
		pkg.Syntax = append(pkg.Syntax, syntax)
	} else {
		f.lines[name] = file
	}
	return file
}

// walk calls do with every token.Pos in a value, in an order that depends on the value only. It looks into
// what gob writes: exported fields, elements, what pointers and interfaces hold; not into maps.
type walk struct {
	do    func(reflect.Value)
	holds map[reflect.Type]bool // whether there can be a position in a value of a type
}

func newWalk(do func(reflect.Value)) walk { return walk{do, map[reflect.Type]bool{}} }

func (w walk) visit(v reflect.Value) {
	if !v.IsValid() || !w.can(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		w.visit(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				w.visit(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.visit(v.Index(i))
		}
	default:
		w.do(v)
	}
}

func (w walk) can(t reflect.Type) bool {
	if t == reflect.TypeFor[token.Pos]() {
		return true
	}
	can, known := w.holds[t]
	if known {
		return can
	}
	w.holds[t] = true // while it is looked at: it may hold itself
	switch t.Kind() {
	case reflect.Interface:
		can = true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		can = w.can(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			can = can || t.Field(i).IsExported() && w.can(t.Field(i).Type)
		}
	}
	w.holds[t] = can
	return can
}
