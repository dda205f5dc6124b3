package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours are two of M. Okabe and K. Ito's, which stay apart for every kind of colour vision. Grey
// is for what is not data.
var (
	oursColor   = color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	othersColor = color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	gridColor   = color.RGBA{R: 0xdd, G: 0xdd, B: 0xdd, A: 0xff}
	textColor   = color.RGBA{R: 0x33, G: 0x33, B: 0x33, A: 0xff}
)

const (
	plotWidth = 30 * vg.Centimeter
	rowHeight = 0.62 * vg.Centimeter
)

// drawSVG writes the plot.
func drawSVG(r *Results, path string) error {
	panels := panelsOf(r)
	canvas := vgsvg.New(plotWidth, panels.height())
	panels.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	// Who has no Liberation fonts should see others of the kind, not the browser's serifs.
	svg := strings.ReplaceAll(b.String(), "font-family:Liberation Sans", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif")
	return os.WriteFile(path, []byte(svg), 0o644)
}

// panels are the plots of one picture: a row for each way to be a contender, and in it hand-off beside
// cycles.
type panels [][]*plot.Plot

func panelsOf(r *Results) panels {
	var p panels
	var handoffs, cycles []float64
	for _, l := range shown(r) {
		for _, row := range sorted(r, l) {
			handoffs = append(handoffs, row.HandoffP50.Seconds(), row.HandoffP99.Seconds())
			cycles = append(cycles, row.Cycles)
		}
	}
	// The same axes in every row, so that rows can be compared.
	handoffAxis, cyclesAxis := spanOf(handoffs), spanOf(cycles)
	for _, l := range shown(r) {
		rows := sorted(r, l)
		slots := slotsOf(r, rows)
		p = append(p, []*plot.Plot{handoffPanel(r, rows, slots, l, handoffAxis), cyclesPanel(r, rows, slots, cyclesAxis)})
	}
	return p
}

func (p panels) height() (h vg.Length) {
	for _, row := range p {
		h += vg.Length(row[0].Y.Max-row[0].Y.Min)*rowHeight + 2.6*vg.Centimeter
	}
	return max(h, rowHeight)
}

func (p panels) draw(c draw.Canvas) {
	if len(p) == 0 {
		return
	}
	tiles := draw.Tiles{Rows: len(p), Cols: 2, PadX: 0.6 * vg.Centimeter, PadY: 0.6 * vg.Centimeter,
		PadTop: 0.3 * vg.Centimeter, PadBottom: 0.3 * vg.Centimeter, PadLeft: 0.3 * vg.Centimeter, PadRight: 0.3 * vg.Centimeter}
	for i, row := range plot.Align(p, tiles, c) {
		for j, canvas := range row {
			p[i][j].Draw(canvas)
		}
	}
}

// shown are the loads of the plot: the smallest crowd with the longest hold, both ways.
func shown(r *Results) []load {
	var some []load
	for _, apart := range []bool{false, true} {
		best := load{}
		for _, l := range loadsOf(r) {
			if l == alone || l.apart != apart {
				continue
			}
			if best == (load{}) || l.contenders < best.contenders || l.contenders == best.contenders && l.hold > best.hold {
				best = l
			}
		}
		if best != (load{}) {
			some = append(some, best)
		}
	}
	return some
}

// slots are the heights of the rows, from the top, with a heading for each system.
type slots struct {
	at    []float64 // of each row
	ticks []plot.Tick
	size  float64
}

func slotsOf(r *Results, rows []Row) slots {
	var s slots
	last := system("")
	next := 0.0
	for _, row := range rows {
		subject := r.Subjects[row.Subject]
		if subject.System != last {
			if last != "" {
				next += 0.4
			}
			last = subject.System
			s.ticks = append(s.ticks, plot.Tick{Value: -next, Label: strings.ToUpper(string(last))})
			next++
		}
		s.at = append(s.at, -next)
		s.ticks = append(s.ticks, plot.Tick{Value: -next, Label: subject.name()})
		next++
	}
	s.size = next
	return s
}

// A span is what an axis covers.
type span struct{ least, most float64 }

// spanOf goes from a step below all positive values to one above them.
func spanOf(values []float64) span {
	s := span{math.Inf(1), math.Inf(-1)}
	for _, v := range values {
		if v > 0 {
			s.least, s.most = min(s.least, v), max(s.most, v)
		}
	}
	if s.least > s.most {
		return span{1, 10}
	}
	all := steps(s.least/10, s.most*10)
	for _, v := range all {
		if v <= s.least && all[0] < v {
			all[0] = v
		}
		if v >= s.most {
			return span{all[0], v}
		}
	}
	return s // not reached: there is a step in every decade
}

// steps are 1, 2 and 5 times the powers of ten in a range.
func steps(least, most float64) []float64 {
	var all []float64
	for e := math.Floor(math.Log10(least)); e <= math.Ceil(math.Log10(most)); e++ {
		for _, times := range []float64{1, 2, 5} {
			if v := times * math.Pow(10, e); v >= least*(1-1e-9) && v <= most*(1+1e-9) {
				all = append(all, v)
			}
		}
	}
	return all
}

// panel is an empty plot with the rows on its y axis and a logarithmic x axis.
func panel(title string, s slots, labelled bool, x span, tick func(float64) string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.Padding = title, 0.3*vg.Centimeter
	p.Title.TextStyle.Font, p.Title.TextStyle.Color = sans(12), textColor
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = ticks(tick)
	p.X.Min, p.X.Max = x.least, x.most
	p.Y.Min, p.Y.Max = -s.size+0.4, 0.6
	p.Y.Tick.Marker = plot.ConstantTicks(nil)
	if labelled {
		p.Y.Tick.Marker = plot.ConstantTicks(s.ticks)
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Label.Font, axis.Tick.Label.Color = sans(10), textColor
		axis.Label.TextStyle.Font, axis.Label.TextStyle.Color = sans(10), textColor
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = gridColor, gridColor
	}
	p.X.Label.Padding = 0.1 * vg.Centimeter
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width = 0, 0
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Vertical.Width = gridColor, vg.Points(0.6)
	grid.Horizontal.Width = 0
	p.Add(grid)
	for _, at := range s.at {
		guide, _ := plotter.NewLine(plotter.XYs{{X: x.least, Y: at}, {X: x.most, Y: at}}) // fails without points only, as below
		guide.LineStyle.Color, guide.LineStyle.Width = gridColor, vg.Points(0.4)
		p.Add(guide)
	}
	return p
}

func sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Points(float64(size)))
}

// ticks labels the powers of ten, and the steps between them where there are few.
type ticks func(float64) string

func (label ticks) Ticks(least, most float64) []plot.Tick {
	var all []plot.Tick
	for _, v := range steps(least, most) {
		power := math.Abs(math.Log10(v)-math.Round(math.Log10(v))) < 1e-9
		if power || most/least < 60 {
			all = append(all, plot.Tick{Value: v, Label: label(v)})
		}
	}
	return all
}

// handoffPanel has a line from the median, a disc, to the 99th percentile, a ring.
func handoffPanel(r *Results, rows []Row, s slots, l load, x span) *plot.Plot {
	p := panel(fmt.Sprintf("%s, %d contenders, held for %v: hand-off", crowdTitles[l.apart], l.contenders, l.hold), s, true, x, round)
	p.X.Label.Text = "from release to the next grant: median (disc), 99th percentile (ring)"
	for i, row := range rows {
		c := colorOf(r.Subjects[row.Subject])
		if row.HandoffP50 == 0 {
			note(p, x.least, s.at[i], "no hand-off", c)
			continue
		}
		from, to := plotter.XY{X: row.HandoffP50.Seconds(), Y: s.at[i]}, plotter.XY{X: row.HandoffP99.Seconds(), Y: s.at[i]}
		bar, _ := plotter.NewLine(plotter.XYs{from, to})
		bar.LineStyle.Color, bar.LineStyle.Width = c, vg.Points(1.6)
		p.Add(bar, mark(from, c, draw.CircleGlyph{}), mark(to, c, ringOnWhite{}))
		note(p, to.X, to.Y, short(row.HandoffP50)+" / "+short(row.HandoffP99), c)
	}
	return p
}

// round is a round number of seconds.
func round(seconds float64) string {
	text := short(time.Duration(math.Round(seconds * 1e9)))
	number, unit, _ := strings.Cut(text, " ")
	if whole, rest, ok := strings.Cut(number, "."); ok && strings.Trim(rest, "0") == "" {
		number = whole
	}
	return number + " " + unit
}

var crowdTitles = map[bool]string{false: "One process", true: "Many processes"}

// cyclesPanel has a disc for the rate, with the fairness beside it, without which a rate says little.
func cyclesPanel(r *Results, rows []Row, s slots, x span) *plot.Plot {
	p := panel("Locks a second (blue: this module)", s, false, x, whole)
	p.X.Label.Text = "taken and released in a second, by all contenders together"
	for i, row := range rows {
		c := colorOf(r.Subjects[row.Subject])
		at := plotter.XY{X: row.Cycles, Y: s.at[i]}
		if row.Cycles == 0 {
			note(p, x.least, at.Y, "none", c)
			continue
		}
		p.Add(mark(at, c, draw.CircleGlyph{}))
		note(p, at.X, at.Y, fmt.Sprintf("%s, fairness %.2f", whole(row.Cycles), row.Fairness), c)
	}
	return p
}

func colorOf(s Subject) color.Color {
	if s.Ours {
		return oursColor
	}
	return othersColor
}

func mark(at plotter.XY, c color.Color, shape draw.GlyphDrawer) *plotter.Scatter {
	s, _ := plotter.NewScatter(plotter.XYs{at})
	s.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(4), Shape: shape}
	return s
}

// ringOnWhite is a ring that the line behind it does not cross.
type ringOnWhite struct{}

func (ringOnWhite) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetColor(color.White)
	draw.CircleGlyph{}.DrawGlyph(c, style, at)
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: vg.Points(1.6)})
	var p vg.Path
	p.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	p.Arc(at, style.Radius, 0, 2*math.Pi)
	p.Close()
	c.Stroke(p)
}

// note writes beside a mark, on its right.
func note(p *plot.Plot, x, y float64, words string, c color.Color) {
	l, _ := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{words}})
	l.TextStyle[0] = text.Style{Color: c, Font: sans(10), XAlign: draw.XLeft, YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
	l.Offset = vg.Point{X: vg.Points(8)}
	p.Add(l)
}
