package claude

import (
	"agentsync/collect"
	"agentsync/collect/value"
)

// message is the normalized view of a line, nil for a line that is no message.
func message(line value.Value, index int) *collect.Message {
	kind, ok := str(line, "type")
	if !ok || kind != "user" && kind != "assistant" && kind != "system" {
		return nil
	}
	id, ok := line.Get("uuid")
	if !ok || id.Kind() != value.String {
		return nil
	}
	m := &collect.Message{ID: id.Str(), Role: kind, Kind: kind, RawIndex: index}
	m.ParentID, _ = str(line, "parentUuid")
	if at, ok := line.Get("timestamp"); ok && at.Kind() == value.String {
		m.CreatedAt = normalTime(at.Text())
	}
	m.Preview = preview(line.Path("message", "content"))
	return m
}

// preview is the beginning of what a content says: a string, an array's items joined by
// line ends, a record's text, or else its content (spec, fabric 6). Every level is cut.
func preview(v value.Value) string { return string(appendPreview(nil, v)) }

func appendPreview(dst []byte, v value.Value) []byte {
	from := len(dst)
	switch v.Kind() {
	case value.String:
		dst = append(dst, v.Text()[:cutLength(v.Text())]...)
	case value.Array:
		dst = appendItems(dst, v)
	case value.Record:
		if text, ok := v.Get("text"); ok && text.Kind() == value.String {
			return appendPreview(dst, text)
		}
		if content, ok := v.Get("content"); ok {
			return appendPreview(dst, content)
		}
	}
	return dst[:from+cutLength(dst[from:])]
}

func appendItems(dst []byte, v value.Value) []byte {
	from, first := len(dst), true
	for item := range v.Elements() {
		if !first {
			dst = append(dst, '\n')
		}
		first = false
		dst = appendPreview(dst, item)
		if cutLength(dst[from:]) < len(dst)-from {
			break // no later item can show
		}
	}
	return dst
}

// cutLength is how many bytes of a WTF-8 text stay within the preview's length.
func cutLength(text []byte) int {
	if len(text) <= collect.PreviewUnits {
		return len(text)
	}
	units := 0
	for i := 0; i < len(text); {
		size, width := unitSize(text[i])
		if units += width; units > collect.PreviewUnits {
			return i
		}
		i += size
	}
	return len(text)
}
