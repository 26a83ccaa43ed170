package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// moment is when a drain is killed.
type moment struct {
	name string
	wait func(m *liveMachine, id, marker string)
}

func after(d time.Duration) moment {
	return moment{d.String(), func(*liveMachine, string, string) { time.Sleep(d) }}
}

// killMoments reach from before the claim to after the answer.
var killMoments = []moment{
	after(20 * time.Millisecond),
	after(150 * time.Millisecond),
	{"when it is claimed", func(m *liveMachine, id, _ string) {
		m.within(40*time.Second, "a claim", func() bool {
			_, err := os.Stat(filepath.Join(m.home, "store", "receipts", id, "claim.json"))
			return err == nil
		})
	}},
	{"when the model was asked", func(m *liveMachine, _, marker string) {
		m.within(60*time.Second, "a request", func() bool { return m.asked(marker) > 0 })
	}},
	{"a second after the model was asked", func(m *liveMachine, _, marker string) {
		m.within(60*time.Second, "a request", func() bool { return m.asked(marker) > 0 })
		time.Sleep(time.Second)
	}},
}

// killed runs drains that are killed at several moments. Whatever the moment, the next
// drain and reconcile bring the command to an end, and no prompt reaches the model twice.
func (m *liveMachine) killed() {
	m.run(0, "publish")
	key := m.started("MARK-begin-END [[mock: text:Begun.]]")
	for i, when := range killMoments {
		marker := fmt.Sprintf("MARK-kill%d-END", i)
		sent := m.send("prompt", key, marker+" [[mock: slow:300 one two three four five six seven]]")
		id := sent["id"].(string)
		drain := m.command("drain")
		if err := drain.Start(); err != nil {
			m.Fatal(err)
		}
		when.wait(m, id, marker)
		_ = drain.Process.Kill()
		_ = drain.Wait()
		before := m.asked(marker)
		m.run(0, "drain")
		r := m.receipt(id)
		if r["status"] == "unknown" {
			reconcile := m.command("reconcile", id)
			_ = reconcile.Run() // 0 when it was settled, 3 when not
			if code := reconcile.ProcessState.ExitCode(); code != 0 && code != 3 {
				m.Errorf("killed %s: reconcile ended with %d", when.name, code)
			}
			r = m.receipt(id)
		}
		asked := m.asked(marker)
		m.Logf("killed %s: asked %d times then, %d times in all, %v", when.name, before, asked, r["status"])
		if asked > 1 || r["status"] == "succeeded" && asked != 1 {
			m.Errorf("killed %s: the prompt reached the model %d times, and the receipt says %v", when.name, asked, r)
		}
		if status := r["status"]; status == "pending" || status == "in-flight" {
			m.Errorf("killed %s: the command is still %v", when.name, status)
		}
	}
	m.run(0, "drain")
	m.run(0, "publish")
	m.run(0, "verify", "--deep")
}

func TestLiveCodexKilledDrainsPromptNobodyTwice(t *testing.T) { newLiveCodex(t).killed() }

func TestLiveClaudeKilledDrainsPromptNobodyTwice(t *testing.T) { newLiveClaude(t).killed() }
