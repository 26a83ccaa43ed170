package claude

import (
	"strings"

	"agentsync/collect/value"
)

// eachLineBackwards calls use for the text's lines from the last, until it returns true.
func eachLineBackwards(text string, use func(line string) bool) {
	for {
		i := strings.LastIndexByte(text, '\n')
		if line := text[i+1:]; line != "" && use(line) {
			return
		}
		if i < 0 {
			return
		}
		text = text[:i]
	}
}

// lastOfType finds the last line of a type, and its string under key.
func (p *parser) lastOfType(text, kind, key string) (string, bool) {
	tight, spaced := `{"type":"`+kind+`"`, `{"type": "`+kind+`"`
	quoted := `"` + key + `"`
	var out string
	found := false
	if !strings.Contains(text, tight[1:]) && !strings.Contains(text, spaced[1:]) {
		return "", false
	}
	eachLineBackwards(text, func(line string) bool {
		if !strings.Contains(line, quoted) || !strings.Contains(line, tight[1:]) && !strings.Contains(line, spaced[1:]) {
			return false
		}
		v, ok := p.parse(line)
		if !ok { // the line may follow a torn one
			v, _ = p.parse(line[max(0, strings.LastIndex(line, tight), strings.LastIndex(line, spaced)):])
		}
		if t, _ := str(v, "type"); t != kind {
			return false
		}
		out, found = str(v, key)
		return found
	})
	return out, found
}

// lastString finds the last line that has a string under key, whatever its type.
func (p *parser) lastString(text, key string) (string, bool) {
	quoted := `"` + key + `"`
	var out string
	found := false
	if !strings.Contains(text, quoted) {
		return "", false
	}
	eachLineBackwards(text, func(line string) bool {
		if !strings.Contains(line, quoted) {
			return false
		}
		if v, ok := p.parse(line); ok {
			out, found = str(v, key)
		}
		return found
	})
	return out, found
}

// firstText finds the first "key":"…" in the text, wherever it is nested.
func (p *parser) firstText(text, key string) (string, bool) {
	for {
		i, size := nextKey(text, key)
		if i < 0 {
			return "", false
		}
		text = text[i+size:]
		if s, ok := p.stringAt(text); ok {
			return s, true
		}
	}
}

// lastText finds the last "key":"…" in the text.
func (p *parser) lastText(text, key string) (string, bool) {
	for {
		tight, spaced := `"`+key+`":"`, `"`+key+`": "`
		i, j := lastIndex(text, tight), lastIndex(text, spaced)
		at, size := i, len(tight)
		if j > i {
			at, size = j, len(spaced)
		}
		if at < 0 {
			return "", false
		}
		if s, ok := p.stringAt(text[at+size:]); ok {
			return s, true
		}
		text = text[:at]
	}
}

// lastIndex is strings.LastIndex for what mostly is not there: looking forwards is
// many times faster.
func lastIndex(text, part string) int {
	if !strings.Contains(text, part) {
		return -1
	}
	return strings.LastIndex(text, part)
}

func nextKey(text, key string) (at, size int) {
	tight, spaced := `"`+key+`":"`, `"`+key+`": "`
	i, j := strings.Index(text, tight), strings.Index(text, spaced)
	if i < 0 || j >= 0 && j < i {
		return j, len(spaced)
	}
	return i, len(tight)
}

// stringAt unescapes the JSON string whose opening quote stands just before text.
func (p *parser) stringAt(text string) (string, bool) {
	end := 0
	for end < len(text) && text[end] != '"' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(text) {
		return "", false
	}
	if strings.IndexByte(text[:end], '\\') < 0 {
		return text[:end], true
	}
	v, ok := p.parse(`"` + text[:end] + `"`)
	if !ok || v.Kind() != value.String {
		return text[:end], true
	}
	return v.Str(), true
}
