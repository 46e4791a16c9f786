package ahead

func Go() { go func() {}() }
