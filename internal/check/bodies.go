package check

import "bytes"

// withoutBodies gives Go source with spaces in the place of what is in the bodies of its functions, at the same
// offsets and lines: for types that is as good, and a parser is through it in no time. Source in which a line
// starts otherwise than gofmt has it, or with a comment that moves positions, may be left as it is.
func withoutBodies(src []byte) []byte {
	if movesLines(src) {
		return src
	}
	out := bytes.Clone(src)
	depth := 0
	for i := 0; i < len(src); {
		switch c := src[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case 'f':
			if depth == 0 && startsFunc(src, i) {
				start, end := body(src, i)
				for j := start; j < end; j++ {
					if out[j] != '\n' {
						out[j] = ' '
					}
				}
				if i = end; i < len(src) && src[i] == '}' {
					i++
				}
				continue
			}
		}
		i = next(src, i)
	}
	return out
}

// movesLines reports whether a comment may say that what follows it is elsewhere.
func movesLines(src []byte) bool {
	return bytes.Contains(src, []byte("//line ")) || bytes.Contains(src, []byte("/*line "))
}

// startsFunc reports whether a line of src starts at i, with the keyword of a function.
func startsFunc(src []byte, i int) bool {
	const keyword = "func"
	return (i == 0 || src[i-1] == '\n') && bytes.HasPrefix(src[i:], []byte(keyword)) &&
		i+len(keyword) < len(src) && (src[i+len(keyword)] == ' ' || src[i+len(keyword)] == '(')
}

// body gives the offsets between the braces of the body of the function that starts at i. Where it has none,
// both are the end of its line.
func body(src []byte, i int) (start, end int) {
	depth, open := 0, -1
	for ; i < len(src); i = next(src, i) {
		switch src[i] {
		case '\n':
			if depth == 0 {
				return i, i
			}
		case '{':
			if depth == 0 && !opensType(src[:i]) {
				open = i + 1
			}
			depth++
		case '(', '[':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 && open >= 0 {
				return open, i
			}
		}
	}
	return i, i
}

// opensType reports whether a brace behind src may open a type and not a body.
func opensType(src []byte) bool {
	src = bytes.TrimRight(src, " \t")
	for _, end := range []string{"struct", "interface", "*/"} {
		if bytes.HasSuffix(src, []byte(end)) {
			return true
		}
	}
	return false
}

// next gives the offset behind what is at i: a literal, a comment, or a byte.
func next(src []byte, i int) int {
	switch c := src[i]; c {
	case '"', '\'':
		for i++; i < len(src) && src[i] != c && src[i] != '\n'; i++ {
			if src[i] == '\\' {
				i++
			}
		}
	case '`':
		return behind(src, i+1, "`")
	case '/':
		switch {
		case bytes.HasPrefix(src[i:], []byte("//")):
			if n := bytes.IndexByte(src[i:], '\n'); n >= 0 {
				return i + n
			}
			return len(src)
		case bytes.HasPrefix(src[i:], []byte("/*")):
			return behind(src, i+2, "*/")
		}
	}
	return i + 1
}

// behind gives the offset behind the next mark, or the end.
func behind(src []byte, i int, mark string) int {
	if n := bytes.Index(src[min(i, len(src)):], []byte(mark)); n >= 0 {
		return i + n + len(mark)
	}
	return len(src)
}
