// Package analyzer is the suite of advisorylint's rules, for drivers that want all of them at once.
// A driver that wants one rule (nogo, a custom vet tool) imports that rule's own package.
package analyzer

import (
	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/acquireresult"
	"github.com/advisorylint/advisorylint/analyzer/blinddel"
	"github.com/advisorylint/advisorylint/analyzer/crossslot"
	"github.com/advisorylint/advisorylint/analyzer/earlyunlock"
	"github.com/advisorylint/advisorylint/analyzer/etcdsession"
	"github.com/advisorylint/advisorylint/analyzer/getdel"
	"github.com/advisorylint/advisorylint/analyzer/leasewatch"
	"github.com/advisorylint/advisorylint/analyzer/limitlock"
	"github.com/advisorylint/advisorylint/analyzer/lockkey"
	"github.com/advisorylint/advisorylint/analyzer/lockleak"
	"github.com/advisorylint/advisorylint/analyzer/lockmismatch"
	"github.com/advisorylint/advisorylint/analyzer/locktoken"
	"github.com/advisorylint/advisorylint/analyzer/lockview"
	"github.com/advisorylint/advisorylint/analyzer/lockwait"
	"github.com/advisorylint/advisorylint/analyzer/nottl"
	"github.com/advisorylint/advisorylint/analyzer/poolerlock"
	"github.com/advisorylint/advisorylint/analyzer/poollock"
	"github.com/advisorylint/advisorylint/analyzer/poolstarve"
	"github.com/advisorylint/advisorylint/analyzer/renewloop"
	"github.com/advisorylint/advisorylint/analyzer/renewrace"
	"github.com/advisorylint/advisorylint/analyzer/retrystorm"
	"github.com/advisorylint/advisorylint/analyzer/scripttext"
	"github.com/advisorylint/advisorylint/analyzer/setlocal"
	"github.com/advisorylint/advisorylint/analyzer/setnonx"
	"github.com/advisorylint/advisorylint/analyzer/stalesnapshot"
	"github.com/advisorylint/advisorylint/analyzer/unlockctx"
	"github.com/advisorylint/advisorylint/analyzer/unlockorder"
	"github.com/advisorylint/advisorylint/analyzer/unlockresult"
	"github.com/advisorylint/advisorylint/analyzer/xactlock"
)

// row is one rule of the suite.
type row struct {
	full *analysis.Analyzer // all that the rule can say: what asking for it by name gives
	on   *analysis.Analyzer // what the default set runs; nil for a rule that is opt-in
}

// rows is the suite in the order in which documentation lists it.
var rows = []row{
	{full: poollock.Analyzer, on: poollock.Analyzer},
	{full: unlockresult.Analyzer, on: unlockresult.Analyzer},
	{full: unlockctx.Analyzer, on: unlockctx.Analyzer},
	{full: unlockorder.Analyzer, on: unlockorder.Analyzer},
	{full: limitlock.Analyzer, on: limitlock.Analyzer},
	{full: xactlock.Analyzer, on: xactlock.Analyzer},
	{full: acquireresult.Analyzer, on: acquireresult.Analyzer},
	{full: lockleak.Analyzer, on: lockleak.Analyzer},
	{full: lockmismatch.Analyzer, on: lockmismatch.Analyzer},
	{full: earlyunlock.Analyzer, on: earlyunlock.Analyzer},
	{full: setlocal.Analyzer, on: setlocal.Analyzer},
	{full: lockview.Analyzer, on: lockview.Analyzer},
	{full: getdel.Analyzer, on: getdel.Analyzer},
	{full: blinddel.Analyzer, on: blinddel.Analyzer},
	{full: nottl.Analyzer, on: nottl.Analyzer},
	{full: locktoken.Analyzer, on: locktoken.Analyzer},
	{full: setnonx.Analyzer, on: setnonx.Analyzer},
	{full: renewrace.Analyzer, on: renewrace.Analyzer},
	{full: renewloop.Analyzer, on: renewloop.Analyzer},
	{full: crossslot.Analyzer, on: crossslot.Analyzer},
	{full: scripttext.Analyzer, on: scripttext.Analyzer},
	{full: retrystorm.Analyzer, on: retrystorm.SpinsAnalyzer},
	{full: etcdsession.Analyzer, on: etcdsession.Analyzer},
	{full: lockkey.Analyzer, on: lockkey.NamesAnalyzer},
	{full: lockwait.Analyzer},
	{full: stalesnapshot.Analyzer},
	{full: poolerlock.Analyzer},
	{full: poolstarve.Analyzer},
	{full: leasewatch.Analyzer},
}

// Default returns the rules that run when nobody chooses: each finds mistakes that the program alone
// shows. A rule may be there in part, under the same name (lockkey: names that are too long).
func Default() []*analysis.Analyzer {
	var list []*analysis.Analyzer
	for _, r := range rows {
		if r.on != nil {
			list = append(list, r.on)
		}
	}
	return list
}

// All returns every rule, the opt-in ones included, each with all that it can say.
func All() []*analysis.Analyzer {
	list := make([]*analysis.Analyzer, 0, len(rows))
	for _, r := range rows {
		list = append(list, r.full)
	}
	return list
}

// ByName returns the rule of that name as All has it, or nil when there is none.
func ByName(name string) *analysis.Analyzer {
	for _, r := range rows {
		if r.full.Name == name {
			return r.full
		}
	}
	return nil
}
