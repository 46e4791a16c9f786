package bench
import ("testing";"fmt")
func TestZZ(t *testing.T){ m,_:=RunMailbox(MailboxOptions{Agents:100000,Messages:1000000,Rounds:3})
 for _,s:=range []Sends{m.Many,m.Hot} { fmt.Printf("%d: default %.0f/%.0f bare %.0f/%.0f chain %.0f/%.0f  cpu ratio bare %.2f chain %.2f\n", s.Actors, s.Default.Median,s.Default.CPU,s.Bare.Median,s.Bare.CPU,s.Chain.Median,s.Chain.CPU, s.Bare.CPU/s.Default.CPU, s.Chain.CPU/s.Default.CPU) } }
func TestZH(t *testing.T){ for range 3 { s,_,_:=compareSends(1,1000000,5,2)
  fmt.Printf("%d: default %.0f/%.0f bare %.0f/%.0f chain %.0f/%.0f  cpu ratio bare %.2f chain %.2f\n", s.Actors, s.Default.Median,s.Default.CPU,s.Bare.Median,s.Bare.CPU,s.Chain.Median,s.Chain.CPU, s.Bare.CPU/s.Default.CPU, s.Chain.CPU/s.Default.CPU) } }
