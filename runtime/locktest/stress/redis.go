package stress

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is a section recorded in a hash of this name. Its fields are a visit with "process", "token",
// "entered" or "left" before it; the times are in microseconds since 1970.
func Redis(client redis.UniversalClient, name string) Section { return redisSection{client, name} }

type redisSection struct {
	client redis.UniversalClient
	name   string
}

var (
	redisEnter = redis.NewScript(`
		local now = redis.call('TIME')
		local id = redis.call('HINCRBY', KEYS[1], 'visits', 1)
		redis.call('HSET', KEYS[1], 'token ' .. id, ARGV[1], 'process ' .. id, ARGV[2], 'entered ' .. id, string.format('%d%06d', now[1], now[2]))
		return id`)
	redisLeave = redis.NewScript(`
		local now = redis.call('TIME')
		redis.call('HSET', KEYS[1], 'left ' .. ARGV[1], string.format('%d%06d', now[1], now[2]))
		return 1`)
)

func (s redisSection) Prepare(ctx context.Context) error {
	if err := s.client.Del(ctx, s.name).Err(); err != nil {
		return fmt.Errorf("prepare section %s: %w", s.name, err)
	}
	return nil
}

func (s redisSection) Enter(ctx context.Context, token int64) (visit int64, err error) {
	visit, err = redisEnter.Run(ctx, s.client, []string{s.name}, token, os.Getpid()).Int64()
	if err != nil {
		return 0, fmt.Errorf("enter section %s: %w", s.name, err)
	}
	return visit, nil
}

func (s redisSection) Leave(ctx context.Context, visit int64) error {
	if err := redisLeave.Run(ctx, s.client, []string{s.name}, visit).Err(); err != nil {
		return fmt.Errorf("leave section %s: %w", s.name, err)
	}
	return nil
}

func (s redisSection) Visits(ctx context.Context) ([]Visit, error) {
	fields, err := s.client.HGetAll(ctx, s.name).Result()
	if err != nil {
		return nil, fmt.Errorf("visits of section %s: %w", s.name, err)
	}
	byID := map[string]*Visit{}
	for field, text := range fields {
		what, id, _ := strings.Cut(field, " ")
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("visits of section %s: field %q: %w", s.name, field, err)
		}
		if what == "visits" {
			continue
		}
		v := byID[id]
		if v == nil {
			v = &Visit{}
			byID[id] = v
			v.ID, _ = strconv.ParseInt(id, 10, 64)
		}
		switch what {
		case "process":
			v.Process = int(value)
		case "token":
			v.Token = value
		case "entered":
			v.Entered = time.UnixMicro(value)
		case "left":
			v.Left = time.UnixMicro(value)
		}
	}
	visits := make([]Visit, 0, len(byID))
	for _, v := range byID {
		visits = append(visits, *v)
	}
	return visits, nil
}
