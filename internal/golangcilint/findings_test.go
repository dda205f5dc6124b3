package main

import (
	"strings"
	"testing"
)

// What the programs of testdata/harbour have in the default set, without a setting.
const (
	pooledArrival = "dock/dock.go:13:9 poollock"
	pooledMooring = "pier/pier.go:13:9 poollock"
	pooledCalm    = "calm/calm.go:39:12 poollock"
	unreadAnswer  = "crane/crane.go:16:21 unlockresult"
)

// And what they have besides with other settings.
const (
	endlessWait    = "tide/tide.go:13:15 lockwait"
	pooledBoarding = "pilot/pilot.go:12:9 poollock"
)

// byDefault is what golangci-lint finds in all of harbour without a setting, and more.
func byDefault(more ...string) []string {
	return append([]string{pooledArrival, pooledMooring, pooledCalm, unreadAnswer}, more...)
}

func TestEachFindingNamesItsRule(t *testing.T) {
	r := newProject(t).lint(t)
	r.want(t, byDefault()...)
	for _, i := range r.issues {
		if i.FromLinter != "advisorylint" {
			t.Errorf("%s is of linter %s", i, i.FromLinter)
		}
	}
}

// golangci-lint would make findings of their own of the places that belong to one.
func TestFindingHasItsWayInItsText(t *testing.T) {
	for _, i := range newProject(t).lint(t).issues {
		if strings.Contains(i.Text, "related information") {
			t.Errorf("%s: %s", i, i.Text)
		}
		for finding, way := range map[string]string{
			pooledArrival: " (berth.go:17: pg_advisory_lock is sent here)",
			pooledMooring: " (berth.go:32: Reserve is called here; berth.go:17: pg_advisory_lock is sent here)",
			unreadAnswer:  " (crane.go:12: pg_try_advisory_lock is called here)",
		} {
			if i.String() == finding && !strings.HasSuffix(i.Text, way) {
				t.Errorf("%s: %q does not end in %q", i, i.Text, way)
			}
		}
	}
}

// The helper is then no package of the run: all that is known of it are facts.
func TestFactsCrossPackages(t *testing.T) {
	newProject(t).lint(t, "./dock").want(t, pooledArrival)
}

func TestSettings(t *testing.T) {
	p := newProject(t) // one cache for all: settings must take effect all the same
	for _, test := range []struct {
		settings string
		want     []string
	}{
		{"{}", byDefault()},
		{"{rules: [default, lockwait]}", byDefault(endlessWait)},
		{"{rules: [default, -poollock]}", []string{unreadAnswer}},
		{"{rules: [lockwait]}", []string{endlessWait}},
		{"{pooler: transaction, rules: [poolerlock]}", // calm.go's nolint and lint:ignore are of poollock
			[]string{"dock/dock.go:13:9 poolerlock", "pier/pier.go:13:9 poolerlock", "crane/crane.go:12:12 poolerlock", "tide/tide.go:13:15 poolerlock",
				"calm/calm.go:20:12 poolerlock", "calm/calm.go:26:12 poolerlock", "calm/calm.go:39:12 poolerlock"}},
		{"{pooler: session}", byDefault()},
		{"{clients: [{type: example.com/harbour/store.DB, handle: pool}], wrappers: [{func: example.com/harbour/store.DB.Run}]}",
			byDefault(pooledBoarding)},
		{"{wrappers: [{func: example.com/harbour/store.DB.Run, handle: pool, sql: 1}]}",
			byDefault(pooledBoarding)},
		{"{exclude: ['calm/**', '**/crane.go']}", []string{pooledArrival, pooledMooring}},
		{"{}", byDefault()},
	} {
		t.Run(test.settings, func(t *testing.T) {
			p.config.settings = test.settings
			p.lint(t).want(t, test.want...)
		})
	}
}

// The cache does not know the command's file, so that it must not matter.
func TestConfigurationFileIsNotRead(t *testing.T) {
	p := newProject(t)
	p.write(t, ".advisorylint.yaml", func(string) string { return "rules: [lockwait]\n" })
	p.lint(t).want(t, byDefault()...)
}

// A wrong setting ends golangci-lint before it looks at anything.
func TestWrongSettingsAreOneLine(t *testing.T) {
	p := newProject(t)
	for settings, says := range map[string]string{
		"{rules: [poolock]}":           `settings.rules[0]: there is no rule "poolock"; is it poollock?`,
		"{rule: [poollock]}":           `settings.rule: there is no option "rule": there are rules, pooler,`,
		"{rules: lockwait}":            `settings.rules: rules is "lockwait": want a list, [default, lockwait]`,
		"{pooler: [transaction]}":      `settings.pooler: pooler is a list: want transaction`,
		"{severity: {lockwait: info}}": `settings.severity: golangci-lint has severities of its own; write`,
		"[lockwait]":                   `settings: a list: want options such as rules: [default]`,
	} {
		p.config.settings = settings
		p.write(t, ".golangci.yml", func(string) string { return p.config.text() })
		r := p.exec(t, "run")
		if r.code == 0 || r.code == 1 {
			t.Errorf("%s: exit code %d, as if golangci-lint had looked", settings, r.code)
		}
		// It says twice why it ends: once as an error of its command, once as one of the program.
		lines := strings.Split(strings.TrimSpace(r.log), "\n")
		if len(lines) > 2 || !strings.Contains(lines[0], "linters.settings.custom.advisorylint."+says) {
			t.Errorf("%s: says\n%swant one line with %q", settings, r.log, says)
		}
	}
}

// The documentation says how a rule gets another severity.
func TestSeverityIsGolangciLints(t *testing.T) {
	p := newProject(t)
	p.config.settings = "{rules: [default, lockwait]}"
	p.config.more = "severity: {default: warning, rules: [{linters: [advisorylint], text: '^lockwait: ', severity: info}]}\n"
	r := p.lint(t)
	r.want(t, byDefault(endlessWait)...)
	for _, i := range r.issues {
		want := "warning"
		if i.String() == endlessWait {
			want = "info"
		}
		if i.Severity != want {
			t.Errorf("%s has severity %q, want %q", i, i.Severity, want)
		}
	}
}
