package expr

import (
	"math"
	"math/bits"
	"slices"

	"tavernsim/protocol"
)

func mathConstants() map[string]float64 {
	return map[string]float64{"PI": math.Pi, "E": math.E, "LN2": math.Ln2, "LN10": math.Ln10,
		"LOG2E": math.Log2E, "LOG10E": math.Log10E, "SQRT2": math.Sqrt2, "SQRT1_2": 1 / math.Sqrt2}
}

// mathNames lists what stands after "Math.", sorted.
func mathNames() []string {
	names := append(protocol.SortedKeys(mathConstants()), protocol.SortedKeys(mathFunctions())...)
	slices.Sort(names)
	return names
}

// mathFunctions is everything of Math but random. A missing argument is NaN.
func mathFunctions() map[string]func([]float64) float64 {
	fns := map[string]func([]float64) float64{
		"max": maxOf, "min": minOf, "hypot": hypot,
		"pow":   func(a []float64) float64 { return power(arg(a, 0), arg(a, 1)) },
		"atan2": func(a []float64) float64 { return math.Atan2(arg(a, 0), arg(a, 1)) },
		"imul":  func(a []float64) float64 { return float64(toInt32(arg(a, 0)) * toInt32(arg(a, 1))) },
	}
	for name, f := range map[string]func(float64) float64{
		"abs": math.Abs, "ceil": math.Ceil, "floor": math.Floor, "trunc": math.Trunc, "round": round,
		"sign": sign, "sqrt": math.Sqrt, "cbrt": math.Cbrt, "exp": math.Exp, "expm1": math.Expm1,
		"log": math.Log, "log1p": math.Log1p, "log2": math.Log2, "log10": math.Log10,
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos,
		"atan": math.Atan, "sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
		"asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh,
		"fround": func(x float64) float64 { return float64(float32(x)) },
		"clz32":  func(x float64) float64 { return float64(bits.LeadingZeros32(uint32(toInt32(x)))) },
	} {
		fns[name] = func(a []float64) float64 { return f(arg(a, 0)) }
	}
	return fns
}

func arg(args []float64, i int) float64 {
	if i < len(args) {
		return args[i]
	}
	return math.NaN()
}

func maxOf(args []float64) float64 {
	f := math.Inf(-1)
	for _, a := range args {
		f = max(f, a)
	}
	return f
}

func minOf(args []float64) float64 {
	f := math.Inf(1)
	for _, a := range args {
		f = min(f, a)
	}
	return f
}

func hypot(args []float64) float64 {
	f := 0.0
	for _, a := range args {
		f = math.Hypot(f, a)
	}
	return f
}

// power differs from Go's where an exponent of infinite size or NaN meets 1.
func power(x, y float64) float64 {
	if math.IsNaN(y) || math.IsInf(y, 0) && math.Abs(x) == 1 {
		return math.NaN()
	}
	return math.Pow(x, y)
}

// round takes halves up, also negative ones; the result of -0.5 to -0 is -0.
func round(x float64) float64 {
	f := math.Floor(x)
	if x-f >= 0.5 {
		f++
	}
	return math.Copysign(f, x)
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// toInt32 wraps a number as JavaScript's bit operations do.
func toInt32(f float64) int32 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return int32(uint32(int64(math.Mod(math.Trunc(f), 1<<32))))
}
