package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// Set sets an option from the text that its flag has: lists separated by commas.
//
//	rules     default,lockwait,-xactlock
//	pooler    transaction
//	clients   example.com/store.DB=pool,example.com/store.Line=conn
//	wrappers  example.com/store.Run,example.com/store.DB.Run=pool,example.com/store.Exec=pool:2
//	exclude   internal/gen/**,**/*_mock.go
//	severity  lockwait=info,poollock=error
func (s *Settings) Set(name, text string) error {
	items := list(text)
	switch name {
	case Rules:
		s.Rules = items
	case Pooler:
		s.Pooler = text
	case Clients:
		s.Clients = []Client{}
		for _, item := range items {
			typ, handle, _ := strings.Cut(item, "=")
			s.Clients = append(s.Clients, Client{Type: typ, Handle: handle})
		}
	case Wrappers:
		s.Wrappers = []Wrapper{}
		for _, item := range items {
			w, err := wrapper(item)
			if err != nil {
				return err
			}
			s.Wrappers = append(s.Wrappers, w)
		}
	case Exclude:
		s.Exclude = items
	case Severity:
		s.Severity = map[string]string{}
		for _, item := range items {
			rule, level, _ := strings.Cut(item, "=")
			s.Severity[rule] = level
		}
	default:
		return fmt.Errorf("there is no option %s", name)
	}
	return nil
}

// list splits at commas outside braces, which patterns have.
func list(text string) []string {
	items := []string{}
	depth := 0
	for item := range strings.FieldsFuncSeq(text, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return r == ',' && depth <= 0
	}) {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func wrapper(item string) (Wrapper, error) {
	fn, rest, _ := strings.Cut(item, "=")
	handle, number, numbered := strings.Cut(rest, ":")
	w := Wrapper{Func: fn, Handle: handle}
	if numbered {
		n, err := strconv.Atoi(number)
		if err != nil {
			return w, fmt.Errorf("%s: %q is not the number of an argument", fn, number)
		}
		w.SQL = &n
	}
	return w, nil
}

// Text is the text that Set reads, "" when the option is not given.
func (s *Settings) Text(name string) string {
	var items []string
	switch name {
	case Rules:
		items = s.Rules
	case Pooler:
		return s.Pooler
	case Clients:
		for _, c := range s.Clients {
			items = append(items, c.Type+"="+c.Handle)
		}
	case Wrappers:
		for _, w := range s.Wrappers {
			items = append(items, w.text())
		}
	case Exclude:
		items = s.Exclude
	case Severity:
		for _, rule := range sortedKeys(s.Severity) {
			items = append(items, rule+"="+s.Severity[rule])
		}
	}
	return strings.Join(items, ",")
}

func (w *Wrapper) text() string {
	switch {
	case w.SQL != nil:
		return fmt.Sprintf("%s=%s:%d", w.Func, w.Handle, *w.SQL)
	case w.Handle != "":
		return w.Func + "=" + w.Handle
	}
	return w.Func
}
