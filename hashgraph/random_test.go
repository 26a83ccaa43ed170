package hashgraph

import (
	"math"
	"math/rand/v2"
	"strings"

	"agentsync/collect/value"
)

// maker makes random values that try the planner's corners: few ids, so that they
// collide; holes; links; -0; long strings; arrays in arrays.
type maker struct {
	r *rand.Rand
	b *value.Builder
}

func randomValue(r *rand.Rand, depth int) value.Value {
	m := maker{r, value.NewBuilder()}
	m.value(depth)
	return m.b.Finish()
}

func randomArray(r *rand.Rand, depth int) value.Value {
	m := maker{r, value.NewBuilder()}
	m.array(depth)
	return m.b.Finish()
}

var keys = []string{"key", "id", "uuid", "commandId", "messageId", "toolCallId", "toolUseId", "nativeSessionId",
	"sessionId", "part", "contentHash", "sourceId", "a", "b", "/", "", "content", "é", strings.Repeat("k", 70)}

func (m maker) value(depth int) {
	switch n := m.r.IntN(10); {
	case depth > 0 && n < 3:
		m.record(depth)
	case depth > 0 && n < 5:
		m.array(depth)
	default:
		m.scalar()
	}
}

func (m maker) scalar() {
	switch m.r.IntN(12) {
	case 0:
		m.b.Null()
	case 1:
		m.b.Undefined()
	case 2:
		m.b.Bool(m.r.IntN(2) == 0)
	case 3:
		m.b.Number(math.Copysign(0, -1))
	case 4:
		m.b.Number([]float64{0, math.NaN(), math.Inf(1), 0.1, -7}[m.r.IntN(5)])
	case 5:
		m.b.Bytes([]byte{1, 2, 3})
	case 6:
		m.b.String(strings.Repeat("x", 60+m.r.IntN(8)))
	case 7:
		m.b.Record().Key("/").Record().Key("link@1").Record().Key("path").Array().Int(1).Int(1).End().End().End().End()
	default:
		m.b.String([]string{"", "a", "b", "c"}[m.r.IntN(4)])
	}
}

func (m maker) record(depth int) {
	m.b.Record()
	for range m.r.IntN(5) {
		m.b.Key(keys[m.r.IntN(len(keys))])
		m.value(depth - 1)
	}
	m.b.End()
}

func (m maker) array(depth int) {
	m.b.Array()
	for range m.r.IntN(6) {
		if m.r.IntN(8) == 0 {
			m.b.Holes(uint32(1 + m.r.IntN(200)))
		}
		m.value(depth - 1)
	}
	m.b.End()
}
