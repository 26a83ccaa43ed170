package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// byteUnits are the names of powers of 1024 bytes.
var byteUnits = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// bytesText shows a size with two or three digits that matter.
func bytesText(n int64) string {
	value, unit := float64(n), 0
	for value >= 1023.5 && unit < len(byteUnits)-1 {
		value /= 1024
		unit++
	}
	switch {
	case unit == 0:
		return fmt.Sprintf("%d B", n)
	case value < 9.95:
		return fmt.Sprintf("%.1f %s", value, byteUnits[unit])
	}
	return fmt.Sprintf("%.0f %s", value, byteUnits[unit])
}

// counted joins a number and a noun in the right number.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// number is a count in a table.
func number(n int) string { return strconv.Itoa(n) }

// storedTime is the form of every stored time.
const storedTime = "2006-01-02T15:04:05.000Z"

// timeText shows a stored time by the wall clock of the reader, to the minute; what is
// no time stays as it is.
func timeText(stored *string) string {
	if stored == nil {
		return ""
	}
	at, err := time.Parse(storedTime, *stored)
	if err != nil {
		return *stored
	}
	return at.Local().Format("2006-01-02 15:04")
}

// text is what a pointer points at, "" for none.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// homePath shows a path below the home with a tilde.
func homePath(home, path string) string {
	rest, below := strings.CutPrefix(path, home)
	if home == "" || !below || rest != "" && rest[0] != '/' && rest[0] != '\\' {
		return path
	}
	return "~" + rest
}

// since reads the value of --since: a date, a time, or how long ago, in Go's units
// or in days (d) and weeks (w).
func since(value string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, value, time.Local); err == nil {
			return at, nil
		}
	}
	if ago, err := longDuration(value); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, usageError("for example: --since 7d, --since 36h, --since 2026-03-01", "--since %q is no time", value)
}

// longDuration is time.ParseDuration with days and weeks, whole ones.
func longDuration(value string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		number, found := strings.CutSuffix(value, unit)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 16)
		return time.Duration(n) * length, err
	}
	return time.ParseDuration(value)
}
