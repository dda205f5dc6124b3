package stress

import (
	"strings"
	"testing"
	"time"
)

func TestJudgeSeesOverlapsAndStaleTokens(t *testing.T) {
	visit := func(token, entered, left int64) Visit {
		v := Visit{Token: token, Entered: time.UnixMicro(entered)}
		if left != 0 {
			v.Left = time.UnixMicro(left)
		}
		return v
	}
	for _, c := range []struct {
		name   string
		visits []Visit
		want   Report
	}{
		{"no visit", nil, Report{}},
		{"one after the other, in any order", []Visit{visit(2, 20, 30), visit(1, 10, 20), visit(3, 31, 40)}, Report{Visits: 3, Most: 1}},
		{"two at once", []Visit{visit(0, 10, 30), visit(0, 20, 40)}, Report{Visits: 2, Most: 2, Both: 10 * time.Microsecond}},
		{"one within another", []Visit{visit(0, 10, 50), visit(0, 20, 40)}, Report{Visits: 2, Most: 2, Both: 20 * time.Microsecond}},
		{"three at once", []Visit{visit(0, 10, 50), visit(0, 20, 50), visit(0, 30, 60)}, Report{Visits: 3, Most: 3, Both: 30 * time.Microsecond}},
		{"one that died inside", []Visit{visit(1, 10, 0), visit(2, 20, 30)}, Report{Visits: 2, Open: 1, Most: 1}},
		{"a token again", []Visit{visit(5, 10, 20), visit(5, 20, 30)}, Report{Visits: 2, Most: 1, Stale: 1}},
		{"tokens smaller than one before", []Visit{visit(5, 10, 20), visit(3, 20, 30), visit(4, 30, 40), visit(6, 40, 50)}, Report{Visits: 4, Most: 1, Stale: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(c.visits)
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if bad := c.want.Most > 1 || c.want.Stale > 0; bad != (got.Err() != nil) {
				t.Errorf("error %v", got.Err())
			}
		})
	}
}

func TestTheLastVisitOfAKilledProcessMayHaveBeenUnderWay(t *testing.T) {
	at := time.UnixMicro
	visits := []Visit{
		{ID: 1, Process: 7, Token: 1, Entered: at(10), Left: at(20)},
		{ID: 2, Process: 8, Token: 3, Entered: at(25), Left: at(40)},
		{ID: 3, Process: 7, Token: 2, Entered: at(30), Left: at(50)}, // a stale token, and beside another
	}
	if got, want := Judge(visits), (Report{Visits: 3, Most: 2, Both: 10 * time.Microsecond, Stale: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := Judge(visits, 7), (Report{Visits: 3, Open: 1, Most: 1}); got != want {
		t.Errorf("of a killed process: %+v, want %+v", got, want)
	}
	visits[0].Left = at(30) // not the last
	if got := Judge(visits, 7); got.Most != 2 || got.Err() == nil {
		t.Errorf("%+v", got)
	}
}

func TestAnErrorSaysForHowLongTwoWereInside(t *testing.T) {
	err := Report{Visits: 7, Most: 2, Both: 1500 * time.Millisecond}.Err()
	if err == nil || !strings.Contains(err.Error(), "1.500000 s") {
		t.Errorf("%v", err)
	}
}
