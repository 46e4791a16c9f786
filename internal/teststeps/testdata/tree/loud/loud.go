package loud

func Send(c chan int) { go func() { c <- 1 }() }
