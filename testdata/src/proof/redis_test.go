package proof

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	redisv9 "github.com/redis/go-redis/v9"
)

// leasePages are those that show what clients say to Redis, and what it answers.
var leasePages = []string{"getdel", "blinddel", "nottl", "locktoken", "setnonx", "renewrace"}

func TestPagesOfLeasesHaveTheSameHeadings(t *testing.T) {
	for _, rule := range leasePages {
		if _, order := page(t, rule); !slices.Equal(order, headings) {
			t.Errorf("%s has the headings %q, want %q", rule, order, headings)
		}
	}
}

// The conversations of the pages are held once more, and Redis answers as the page says.
func TestPagesOfLeasesShowWhatRedisAnswers(t *testing.T) {
	s := Redis(t)
	for _, rule := range leasePages {
		t.Run(rule, func(t *testing.T) {
			s.Clear()
			sections, _ := page(t, rule)
			lines := conversation(sections["Why"])
			if len(lines) < 4 {
				t.Fatalf("the page shows %q, want a conversation", lines)
			}
			hold(t, s, lines)
		})
	}
}

// conversation is what is in the text fences of a section.
func conversation(section string) (lines []string) {
	for _, fence := range strings.Split(section, "```text\n")[1:] {
		text, _, _ := strings.Cut(fence, "\n```")
		lines = append(append(lines, "# the next conversation begins; what was held has run out"), strings.Split(text, "\n")...)
	}
	return lines
}

// said is a line of one process, "A> GET key". What follows is the answer; a remark begins with #, and
// says of the leases when they have run out.
var said = regexp.MustCompile(`^([A-Z])> (.+)$`)

func hold(t *testing.T, s *Store, lines []string) {
	t.Helper()
	processes := map[string]redis.Conn{}
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "#") {
			if strings.Contains(lines[i], "run out") {
				lapseAll(t, s)
			}
			continue
		}
		m := said.FindStringSubmatch(lines[i])
		if m == nil || i+1 == len(lines) {
			t.Fatalf("%q is no command with an answer", lines[i])
		}
		if processes[m[1]] == nil {
			processes[m[1]] = s.Redigo(s.Addr)
		}
		name, args := words(m[2])
		answer, err := processes[m[1]].Do(name, args...)
		if err != nil {
			t.Fatalf("%s: %v", lines[i], err)
		}
		i++
		if got := written(answer); got != lines[i] && !(name == "TTL" && near(got, lines[i])) {
			t.Errorf("%s is answered %s, the page says %s", lines[i-1], got, lines[i])
		}
	}
}

// lapseAll lets every lease run out that has an end.
func lapseAll(t *testing.T, s *Store) {
	t.Helper()
	keys, err := s.watch.Keys(context.Background(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if s.TTL(key) > 0 {
			s.Lapse(key)
		}
	}
}

var word = regexp.MustCompile(`"[^"]*"|\S+`)

// words cuts a command as redis-cli does: at spaces outside double quotes.
func words(command string) (name string, args []any) {
	for i, w := range word.FindAllString(command, -1) {
		if w = strings.Trim(w, `"`); i == 0 {
			name = w
		} else {
			args = append(args, w)
		}
	}
	return name, args
}

// written is an answer as redis-cli writes it.
func written(answer any) string {
	switch v := answer.(type) {
	case nil:
		return "(nil)"
	case int64:
		return fmt.Sprintf("(integer) %d", v)
	case []byte:
		return strconv.Quote(string(v))
	}
	return fmt.Sprint(answer)
}

// near reports whether a time to live is the one shown, but for the time since it was set.
func near(got, shown string) bool {
	var left, set int64
	_, err1 := fmt.Sscanf(got, "(integer) %d", &left)
	_, err2 := fmt.Sscanf(shown, "(integer) %d", &set)
	return err1 == nil && err2 == nil && left > 0 && left <= set && set-left < int64(Patience.Seconds())
}

func TestAGateStopsOneCommandOnItsWay(t *testing.T) {
	s := Redis(t)
	key, order := "k", ""
	gate := s.Before("DEL", func() { order = s.Holder(key) })
	client := s.V9(gate.Addr)
	s.MustTake(key, "other")
	if n, err := client.Del(t.Context(), key).Result(); n != 1 || err != nil || order != "other" {
		t.Fatalf("deleted %d, %v, when the key was %q", n, err, order)
	}
	s.MustTake(key, "next") // the gate stops no second one
	if n, err := client.Del(t.Context(), key).Result(); n != 1 || err != nil || order != "other" {
		t.Fatalf("deleted %d, %v, when the key was %q", n, err, order)
	}
	gate.WantPassed(t)
}

func TestAGateCanKeepACommandFromTheServer(t *testing.T) {
	s := Redis(t)
	stopped := false
	gate := s.InPlaceOf("DEL", func() { stopped = true })
	client := redisv9.NewClient(&redisv9.Options{Addr: gate.Addr, MaxRetries: -1})
	defer client.Close()
	s.MustTake("k", "other")
	if err := client.Del(t.Context(), "k").Err(); err == nil || !stopped {
		t.Fatalf("stopped = %v, and the client is told %v", stopped, err)
	}
	if s.Holder("k") != "other" || slices.Contains(gate.Sent(), "del k") {
		t.Fatalf("the command got through: %q", gate.Sent())
	}
}

func TestALapsedKeyIsGoneLikeOneThatRanOut(t *testing.T) {
	s := Redis(t)
	s.MustTake("k", "first")
	if ttl := s.TTL("k"); ttl <= 0 || ttl > Theirs {
		t.Fatalf("the key lives for %v, want %v", ttl, Theirs)
	}
	s.Overtake("k", "second")
	if holder := s.Holder("k"); holder != "second" || s.Take("k", "third") {
		t.Fatalf("the key is %q", holder)
	}
	s.Lapse("k")
	if holder, ttl := s.Holder("k"), s.TTL("k"); holder != "" || ttl != -2*time.Nanosecond {
		t.Fatalf("the key is %q, and lives for %v", holder, ttl)
	}
}
