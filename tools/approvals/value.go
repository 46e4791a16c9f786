package approvals

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"tavernsim/protocol"
)

// KindValue is the kind of a question for a secret. Its answer comes through a pipe, so that
// no file ever has the value.
const KindValue = "value"

const (
	pipe = ".value"
	// MaxValue bounds a value, in bytes: what is written to a pipe at once stays whole.
	MaxValue = 3 << 10
)

// sent is what goes through the pipe.
type sent struct {
	Token string `json:"token"`
	Value string `json:"value"`
}

// askValue is Ask for a secret. A value that was given to an earlier process is gone.
func (d *Door) askValue(ctx context.Context, q *Question) (Verdict, error) {
	v, err := readAnswer(d.Dir, q.ID)
	if err == nil && !v.Yes {
		_ = os.Remove(filepath.Join(d.Dir, q.ID+asked))
		return v, nil
	}
	if err == nil {
		if err := os.Remove(filepath.Join(d.Dir, q.ID+answered)); err != nil {
			return Verdict{}, err
		}
	}
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return Verdict{}, err
	}
	p, err := makePipe(filepath.Join(d.Dir, q.ID+pipe))
	if err != nil {
		return Verdict{}, err
	}
	defer os.Remove(p.Name())
	defer p.Close()
	if v, err = d.wait(ctx, q); err != nil || !v.Yes {
		return v, err
	}
	_ = p.SetReadDeadline(time.Now().Add(time.Second)) // it was written before the answer
	in := bufio.NewReader(p)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return Verdict{}, errors.New("the value did not come")
		}
		var s sent
		if json.Unmarshal(line, &s) == nil && s.Token == v.Token {
			v.Value, v.Token = s.Value, ""
			return v, nil
		}
	}
}

// AnswerValue gives the secret that an open question asks for.
func AnswerValue(dir, id, value, reason string) error {
	if len(value) > MaxValue {
		return protocol.Errorf(protocol.KindLimit, "a value has at most %d bytes", MaxValue)
	}
	v := Verdict{Yes: true, Reason: reason, Token: rand.Text()}
	if _, err := open(dir, id); err != nil {
		return err
	}
	line, err := json.Marshal(sent{v.Token, value})
	if err != nil {
		return err
	}
	p, err := openPipe(filepath.Join(dir, id+pipe))
	if err != nil {
		return protocol.Errorf(protocol.KindNotFound, "the run does not wait for this value now: %w", err)
	}
	_, err = p.Write(append(line, '\n'))
	if err = errors.Join(err, p.Close()); err != nil {
		return err
	}
	return Answer(dir, id, v)
}
