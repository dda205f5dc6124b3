package main

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

var (
	figuresFile = flag.String("figures", "", "draw the results in this file")
	pngFile     = flag.String("png", "", "keep the picture in this file, to look at")
)

// TestPlotIsAPicture draws as PNG, which people can look at (go test -run Picture -figures F -png P).
func TestPlotIsAPicture(t *testing.T) {
	r := some()
	if *figuresFile != "" {
		var err error
		if r, err = readResults(*figuresFile); err != nil {
			t.Fatal(err)
		}
	}
	path := *pngFile
	if path == "" {
		path = filepath.Join(t.TempDir(), "locks.png")
	}
	panels := panelsOf(r)
	canvas := vgimg.NewWith(vgimg.UseWH(plotWidth, panels.height()), vgimg.UseDPI(110))
	panels.draw(draw.New(canvas))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(f); err != nil {
		t.Fatal(err)
	}
}

func TestPlotNamesAllThatContendAndTheUnits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locks.svg")
	if err := drawSVG(some(), path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"redislock", "other (tuned)", "REDIS", "One process, 16 contenders, held for 1ms: hand-off",
		"Many processes", "123 µs / 300 µs", "12,346, fairness 0.99", ">200 µs<", ">20,000<", "sans-serif"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the plot", want)
		}
	}
	if strings.Contains(string(text), "raw (two)") {
		t.Error("a floor, which does not contend, is in the plot")
	}
}

func TestPlotOfNothingIsEmpty(t *testing.T) {
	if err := drawSVG(&Results{}, filepath.Join(t.TempDir(), "locks.svg")); err != nil {
		t.Error(err)
	}
}

func TestPlotShowsTheSmallestCrowdWithTheLongestHold(t *testing.T) {
	r := &Results{}
	for _, l := range crowds([]int{64, 16}, []time.Duration{0, time.Millisecond}) {
		r.Rows = append(r.Rows, Row{Contenders: l.contenders, Hold: l.hold, Apart: l.apart})
	}
	want := []load{{16, time.Millisecond, false}, {16, time.Millisecond, true}}
	if got := shown(r); !slices.Equal(got, want) {
		t.Errorf("shown: %v", got)
	}
}

func TestSpanGoesFromStepToStep(t *testing.T) {
	for _, c := range []struct {
		values      []float64
		least, most float64
	}{
		{[]float64{0, 21, 3000}, 20, 5000}, {[]float64{0.0006}, 0.0005, 0.001}, {[]float64{1, 10}, 1, 10},
		{[]float64{99, 101}, 50, 200}, {[]float64{0}, 1, 10}, {nil, 1, 10},
	} {
		s := spanOf(c.values)
		if math.Abs(s.least/c.least-1) > 1e-9 || math.Abs(s.most/c.most-1) > 1e-9 {
			t.Errorf("span of %v: %v, want %v to %v", c.values, s, c.least, c.most)
		}
	}
}

func TestTicksAreFewOnALongAxis(t *testing.T) {
	for _, c := range []struct{ least, most float64 }{{20, 5000}, {100, 1000}, {0.0001, 0.2}, {1, 50}} {
		if n := len(ticks(whole).Ticks(c.least, c.most)); n < 2 || n > 6 {
			t.Errorf("%v to %v: %d ticks", c.least, c.most, n)
		}
	}
}

func TestRoundSaysTheUnit(t *testing.T) {
	for seconds, want := range map[float64]string{1e-5: "10 µs", 1e-3: "1 ms", 0.1: "100 ms", 1: "1 s"} {
		if got := round(seconds); got != want {
			t.Errorf("round(%v) = %q, want %q", seconds, got, want)
		}
	}
}
