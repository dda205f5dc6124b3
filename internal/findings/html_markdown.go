package findings

import (
	"bytes"
	"html/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// htmlMarkdown renders rules' pages. It leaves out raw HTML and links that run script, as goldmark does by default.
var htmlMarkdown = goldmark.New(goldmark.WithExtensions(extension.Table))

// whySection is the heading of the part of a rule's page that says what the server does.
const whySection = "Why"

// lowered is how much deeper the headings of a page stand when it is a part of another.
const lowered = 1

// pageHTML renders a rule's page, without its first heading, and by itself what it says under "Why".
func pageHTML(page string) (why, whole template.HTML, err error) {
	src := []byte(page)
	doc := htmlMarkdown.Parser().Parse(text.NewReader(src))
	for n := doc.FirstChild(); n != nil; {
		next := n.NextSibling()
		if heading, ok := n.(*ast.Heading); ok && heading.Level == 1 {
			doc.RemoveChild(doc, n)
		} else if ok {
			heading.Level = min(heading.Level+lowered, 6)
		}
		n = next
	}
	if whole, err = rendered(doc, src); err != nil {
		return "", "", err
	}
	why, err = rendered(section(doc, src), src)
	return why, whole, err
}

// section takes what stands under "Why" out of a page.
func section(doc ast.Node, src []byte) ast.Node {
	part := ast.NewDocument()
	inside := false
	for n := doc.FirstChild(); n != nil; {
		next := n.NextSibling()
		if heading, ok := n.(*ast.Heading); ok && heading.Level == 2+lowered {
			inside = headingText(heading, src) == whySection
		} else if inside {
			part.AppendChild(part, n)
		}
		n = next
	}
	return part
}

func headingText(h *ast.Heading, src []byte) string {
	var out bytes.Buffer
	for i := range h.Lines().Len() {
		line := h.Lines().At(i)
		out.Write(line.Value(src))
	}
	return string(bytes.TrimSpace(out.Bytes()))
}

func rendered(n ast.Node, src []byte) (template.HTML, error) {
	var out bytes.Buffer
	err := htmlMarkdown.Renderer().Render(&out, src, n)
	return template.HTML(out.String()), err
}
