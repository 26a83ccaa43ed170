package publish

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"agentsync/ledger"
	"agentsync/ledger/durable"
	storefs "agentsync/publish/store/fs"
)

// racerArgs makes a copy of the test binary a process that claims commands: the store's
// folder, the state folder with the owner's key, the installation, and how many.
const racerArgs = "AGENTSYNC_TEST_CLAIM"

func TestMain(m *testing.M) {
	if args := os.Getenv(racerArgs); args != "" {
		if err := claimAll(strings.Split(args, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// claimAll claims commands, sixteen at once, and prints those it won. It starts when its
// input says so.
func claimAll(args []string) error {
	count, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	target, err := openHome(args[0], args[1], args[2])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	var next atomic.Int64
	var all sync.WaitGroup
	failures := make([]error, 16)
	for w := range failures {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(count) && failures[w] == nil; i = next.Add(1) - 1 {
				failures[w] = claimOne(target, fmt.Sprint(i))
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// claimOne prints the command if it was won.
func claimOne(target *Target, id string) error {
	won, taken, err := target.Claim(context.Background(), claimed(target, own(id), 1))
	switch {
	case err != nil:
		return err
	case won:
		_, err = fmt.Println(id)
	case taken.Installation == target.Installation:
		err = errors.New("lost a claim to itself")
	}
	return err
}

// openHome opens the store of a folder with the key of a state folder.
func openHome(folder, state, installation string) (*Target, error) {
	s, err := ledger.OpenState(durable.OS(), state)
	if err != nil {
		return nil, err
	}
	owner, err := ledger.OpenIdentity(s, rand.Reader)
	if err != nil {
		return nil, err
	}
	disk, err := storefs.Open(folder, true)
	if err != nil {
		return nil, err
	}
	o := Options{Store: disk, FS: durable.OS(), Signer: owner, Installation: installation, Rand: rand.Reader}
	target, err := Open(context.Background(), o)
	if errors.Is(err, ErrNoStore) {
		return Create(context.Background(), o, noon)
	}
	return target, err
}

func TestTwoProcessesWinEachOfAThousandClaimsOnce(t *testing.T) {
	count := 1000
	if testing.Short() {
		count = 100
	}
	folder, state := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "state")
	target, err := openHome(folder, state, "watcher")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	racers := make([]*racer, 2)
	for i := range racers {
		args := strings.Join([]string{folder, state, fmt.Sprint("racer-", i), fmt.Sprint(count)}, "\n")
		racers[i] = startRacer(t, program, args)
	}
	for _, r := range racers {
		if _, err := r.input.Write([]byte("go\n")); err != nil {
			t.Fatal(err)
		}
	}
	winners := map[string]int{}
	for i, r := range racers {
		won := r.finish(t)
		t.Logf("racer %d won %d", i, len(won))
		if len(won) == 0 || len(won) == count {
			t.Log("the processes did not meet")
		}
		for _, id := range won {
			winners[id]++
			shared, err := target.ReadReceipt(t.Context(), own(id))
			if err != nil || shared.Installation != fmt.Sprint("racer-", i) {
				t.Errorf("command %s: %+v, %v", id, shared, err)
			}
		}
	}
	for id, n := range winners {
		if n != 1 {
			t.Errorf("command %s was won %d times", id, n)
		}
	}
	if len(winners) != count {
		t.Errorf("%d of %d commands were won", len(winners), count)
	}
}

type racer struct {
	*exec.Cmd
	input  interface{ Write([]byte) (int, error) }
	output *bufio.Scanner
	errors bytes.Buffer
}

func startRacer(t *testing.T, program, args string) *racer {
	t.Helper()
	r := &racer{Cmd: exec.CommandContext(t.Context(), program)}
	r.Env = []string{racerArgs + "=" + args}
	r.Stderr = &r.errors
	input, err := r.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	r.input, r.output = input, bufio.NewScanner(output)
	if !r.output.Scan() || r.output.Text() != "ready" {
		t.Fatalf("a racer did not start: %v, %s", r.Wait(), r.errors.String())
	}
	return r
}

// finish returns what the racer won.
func (r *racer) finish(t *testing.T) (won []string) {
	t.Helper()
	for r.output.Scan() {
		won = append(won, r.output.Text())
	}
	if err := r.Wait(); err != nil {
		t.Fatalf("a racer: %v, %s", err, r.errors.String())
	}
	return won
}
