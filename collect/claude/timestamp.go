package claude

import (
	"strings"
	"time"
)

// isoMillis is how all times are published: ISO 8601, milliseconds, UTC.
const isoMillis = "2006-01-02T15:04:05.000Z"

var dateLayouts = []string{
	"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
	"2006-01-02", "2006-01", "2006",
}

// parseDate reads the ISO forms of a date, in milliseconds since 1970 UTC. One without a
// zone is taken for UTC, so that it means the same on every machine.
func parseDate(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}

// formatMillis writes milliseconds since 1970 UTC as the published form.
func formatMillis(ms int64) string { return time.UnixMilli(ms).UTC().Format(isoMillis) }

// normalTime is a line's timestamp in the published form, "" when it is no date.
func normalTime(s []byte) string {
	if len(s) == len(isoMillis) && s[len(s)-1] == 'Z' {
		if _, err := time.Parse(isoMillis, string(s)); err == nil {
			return string(s)
		}
	}
	ms, ok := parseDate(string(s))
	if !ok {
		return ""
	}
	return formatMillis(ms)
}

// roundMillis is a file time in milliseconds as the client reports it: rounded, halves up.
func roundMillis(nanos int64) int64 {
	ms := nanos / 1e6
	rest := nanos - ms*1e6
	if rest < 0 {
		ms, rest = ms-1, rest+1e6
	}
	if rest >= 5e5 {
		ms++
	}
	return ms
}
