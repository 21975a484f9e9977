;; Products of a GGUF file's weights, left in their blocks of 32, with activations rounded to whole
;; numbers of 16 bits, 32 with one scale. Addresses are in bytes; only SIMD of 128 bits is used.
;;
;; A block of activations, 80 bytes: scale, sum times scale (f32), 8 bytes unused, then 32 numbers (i16) in the order
;; in which a weight's 16 bytes, taken as 8 numbers of 16 bits, give them up: those with even index of the
;; first 16, even of the last 16, odd of the first, odd of the last.
(module
  (import "js" "memory" (memory 1))

  ;; The sum of the four entries.
  (func $sum (param $v v128) (result f32)
    (local.set $v (f32x4.add (local.get $v)
      (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $v) (local.get $v))))
    (f32.add (f32x4.extract_lane 0 (local.get $v)) (f32x4.extract_lane 1 (local.get $v))))

  ;; The largest of 16 floats without sign, of each fourth one.
  (func $most16 (param $x i32) (result v128)
    (f32x4.max
      (f32x4.max (f32x4.abs (v128.load (local.get $x))) (f32x4.abs (v128.load offset=16 (local.get $x))))
      (f32x4.max (f32x4.abs (v128.load offset=32 (local.get $x))) (f32x4.abs (v128.load offset=48 (local.get $x))))))

  ;; Four floats over scale, rounded.
  (func $four (param $x i32) (param $scale v128) (result v128)
    (i32x4.trunc_sat_f32x4_s (f32x4.nearest (f32x4.div (v128.load (local.get $x)) (local.get $scale)))))

  ;; 16 floats the same way, those with even index to y, the others to y + 32; their sum, in four parts.
  (func $sixteen (param $x i32) (param $scale v128) (param $y i32) (result v128)
    (local $a v128) (local $b v128) (local $even v128) (local $odd v128)
    (local.set $a (i16x8.narrow_i32x4_s
      (call $four (local.get $x) (local.get $scale))
      (call $four (i32.add (local.get $x) (i32.const 16)) (local.get $scale))))
    (local.set $b (i16x8.narrow_i32x4_s
      (call $four (i32.add (local.get $x) (i32.const 32)) (local.get $scale))
      (call $four (i32.add (local.get $x) (i32.const 48)) (local.get $scale))))
    (local.set $even (i8x16.shuffle 0 1 4 5 8 9 12 13 16 17 20 21 24 25 28 29 (local.get $a) (local.get $b)))
    (local.set $odd (i8x16.shuffle 2 3 6 7 10 11 14 15 18 19 22 23 26 27 30 31 (local.get $a) (local.get $b)))
    (v128.store (local.get $y) (local.get $even))
    (v128.store offset=32 (local.get $y) (local.get $odd))
    (i32x4.add (i32x4.extadd_pairwise_i16x8_s (local.get $even)) (i32x4.extadd_pairwise_i16x8_s (local.get $odd))))

  ;; n blocks of 32 floats, from x, as blocks of activations, from y; levels: the largest whole number.
  (func (export "round") (param $x i32) (param $n i32) (param $y i32) (param $levels f32)
    (local $m v128) (local $scale f32)
    (loop $block
      (local.set $m (f32x4.max (call $most16 (local.get $x)) (call $most16 (i32.add (local.get $x) (i32.const 64)))))
      (local.set $m (f32x4.max (local.get $m)
        (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $m) (local.get $m))))
      (local.set $scale (f32.max (f32.const 1e-30) (f32.div
        (f32.max (f32x4.extract_lane 0 (local.get $m)) (f32x4.extract_lane 1 (local.get $m)))
        (local.get $levels))))
      (local.set $m (f32x4.splat (local.get $scale)))
      (f32.store (local.get $y) (local.get $scale))
      (f32.store offset=4 (local.get $y) (f32.mul (local.get $scale) (call $sum (f32x4.convert_i32x4_s (i32x4.add
        (call $sixteen (local.get $x) (local.get $m) (i32.add (local.get $y) (i32.const 16)))
        (call $sixteen (i32.add (local.get $x) (i32.const 64)) (local.get $m) (i32.add (local.get $y) (i32.const 32))))))))
      (local.set $x (i32.add (local.get $x) (i32.const 128)))
      (local.set $y (i32.add (local.get $y) (i32.const 80)))
      (br_if $block (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))

  ;; Numbers of 16 bits, extended to 32 with their sign, read as floats of 16 bits.
  (func $floats (param $v v128) (result v128)
    (f32x4.mul (f32x4.splat (f32.const 0x1p112))
      (v128.and (i32x4.shl (local.get $v) (i32.const 13)) (i32x4.splat (i32.const 0x8fffe000)))))

  ;; Row w (Q4_1) times activations x.
  (func $q4_1 (param $w i32) (param $x i32) (param $n i32) (result f32)
    (local $head v128) (local $v v128) (local $sum v128) (local $least v128) (local $low v128)
    (local.set $low (i16x8.splat (i32.const 15)))
    (loop $block
      ;; scale · scale, minimum · sum
      (local.set $head (f32x4.mul (v128.load64_zero (local.get $x))
        (call $floats (i32x4.extend_low_i16x8_s (v128.load32_zero (local.get $w))))))
      (local.set $least (f32x4.add (local.get $least) (local.get $head)))
      (local.set $v (v128.load offset=4 (local.get $w)))
      (local.set $sum (f32x4.add (local.get $sum) (f32x4.mul
        (f32x4.splat (f32x4.extract_lane 0 (local.get $head)))
        (f32x4.convert_i32x4_s (i32x4.add
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load offset=16 (local.get $x)) (v128.and (local.get $low) (local.get $v)))
            (i32x4.dot_i16x8_s (v128.load offset=32 (local.get $x))
              (v128.and (local.get $low) (i16x8.shr_u (local.get $v) (i32.const 4)))))
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load offset=48 (local.get $x))
              (v128.and (local.get $low) (i16x8.shr_u (local.get $v) (i32.const 8))))
            (i32x4.dot_i16x8_s (v128.load offset=64 (local.get $x)) (i16x8.shr_u (local.get $v) (i32.const 12)))))))))
      (local.set $w (i32.add (local.get $w) (i32.const 20)))
      (local.set $x (i32.add (local.get $x) (i32.const 80)))
      (br_if $block (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (f32.add (call $sum (local.get $sum)) (f32x4.extract_lane 1 (local.get $least))))

  ;; Row w (Q8_0) times activations x.
  (func $q8_0 (param $w i32) (param $x i32) (param $n i32) (result f32)
    (local $a v128) (local $b v128) (local $sum v128)
    (loop $block
      (local.set $a (v128.load offset=2 (local.get $w)))
      (local.set $b (v128.load offset=18 (local.get $w)))
      (local.set $sum (f32x4.add (local.get $sum) (f32x4.mul
        (f32x4.mul (v128.load32_splat (local.get $x)) (call $floats (i32x4.splat (i32.load16_s (local.get $w)))))
        (f32x4.convert_i32x4_s (i32x4.add
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load offset=16 (local.get $x))
              (i16x8.shr_s (i16x8.shl (local.get $a) (i32.const 8)) (i32.const 8)))
            (i32x4.dot_i16x8_s (v128.load offset=32 (local.get $x))
              (i16x8.shr_s (i16x8.shl (local.get $b) (i32.const 8)) (i32.const 8))))
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load offset=48 (local.get $x)) (i16x8.shr_s (local.get $a) (i32.const 8)))
            (i32x4.dot_i16x8_s (v128.load offset=64 (local.get $x)) (i16x8.shr_s (local.get $b) (i32.const 8)))))))))
      (local.set $w (i32.add (local.get $w) (i32.const 34)))
      (local.set $x (i32.add (local.get $x) (i32.const 80)))
      (br_if $block (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (call $sum (local.get $sum)))

  ;; Row w (Q4_1) times three rows of activations, each `next` bytes after the one before, to y, each
  ;; `down` bytes after the one before: a block is taken apart once for all.
  (func $three (param $w i32) (param $x i32) (param $next i32) (param $n i32) (param $y i32) (param $down i32)
    (local $x1 i32) (local $x2 i32) (local $scales v128) (local $head v128) (local $low v128)
    (local $v0 v128) (local $v1 v128) (local $v2 v128) (local $v3 v128)
    (local $sum0 v128) (local $sum1 v128) (local $sum2 v128)
    (local $least0 v128) (local $least1 v128) (local $least2 v128)
    (local.set $low (i16x8.splat (i32.const 15)))
    (local.set $x1 (i32.add (local.get $x) (local.get $next)))
    (local.set $x2 (i32.add (local.get $x1) (local.get $next)))
    (loop $block
      (local.set $scales (call $floats (i32x4.extend_low_i16x8_s (v128.load32_zero (local.get $w)))))
      (local.set $v3 (v128.load offset=4 (local.get $w)))
      (local.set $v0 (v128.and (local.get $low) (local.get $v3)))
      (local.set $v1 (v128.and (local.get $low) (i16x8.shr_u (local.get $v3) (i32.const 4))))
      (local.set $v2 (v128.and (local.get $low) (i16x8.shr_u (local.get $v3) (i32.const 8))))
      (local.set $v3 (i16x8.shr_u (local.get $v3) (i32.const 12)))
      (local.set $head (f32x4.mul (local.get $scales) (v128.load64_zero (local.get $x))))
      (local.set $least0 (f32x4.add (local.get $least0) (local.get $head)))
      (local.set $sum0 (f32x4.add (local.get $sum0) (f32x4.mul
        (f32x4.splat (f32x4.extract_lane 0 (local.get $head)))
        (f32x4.convert_i32x4_s (i32x4.add
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load offset=16 (local.get $x)) (local.get $v0))
            (i32x4.dot_i16x8_s (v128.load offset=32 (local.get $x)) (local.get $v1)))
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load offset=48 (local.get $x)) (local.get $v2))
            (i32x4.dot_i16x8_s (v128.load offset=64 (local.get $x)) (local.get $v3))))))))
      (local.set $head (f32x4.mul (local.get $scales) (v128.load64_zero (local.get $x1))))
      (local.set $least1 (f32x4.add (local.get $least1) (local.get $head)))
      (local.set $sum1 (f32x4.add (local.get $sum1) (f32x4.mul
        (f32x4.splat (f32x4.extract_lane 0 (local.get $head)))
        (f32x4.convert_i32x4_s (i32x4.add
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load offset=16 (local.get $x1)) (local.get $v0))
            (i32x4.dot_i16x8_s (v128.load offset=32 (local.get $x1)) (local.get $v1)))
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load offset=48 (local.get $x1)) (local.get $v2))
            (i32x4.dot_i16x8_s (v128.load offset=64 (local.get $x1)) (local.get $v3))))))))
      (local.set $head (f32x4.mul (local.get $scales) (v128.load64_zero (local.get $x2))))
      (local.set $least2 (f32x4.add (local.get $least2) (local.get $head)))
      (local.set $sum2 (f32x4.add (local.get $sum2) (f32x4.mul
        (f32x4.splat (f32x4.extract_lane 0 (local.get $head)))
        (f32x4.convert_i32x4_s (i32x4.add
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load offset=16 (local.get $x2)) (local.get $v0))
            (i32x4.dot_i16x8_s (v128.load offset=32 (local.get $x2)) (local.get $v1)))
          (i32x4.add
            (i32x4.dot_i16x8_s (v128.load offset=48 (local.get $x2)) (local.get $v2))
            (i32x4.dot_i16x8_s (v128.load offset=64 (local.get $x2)) (local.get $v3))))))))
      (local.set $w (i32.add (local.get $w) (i32.const 20)))
      (local.set $x (i32.add (local.get $x) (i32.const 80)))
      (local.set $x1 (i32.add (local.get $x1) (i32.const 80)))
      (local.set $x2 (i32.add (local.get $x2) (i32.const 80)))
      (br_if $block (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (f32.store (local.get $y) (f32.add (call $sum (local.get $sum0)) (f32x4.extract_lane 1 (local.get $least0))))
    (local.set $y (i32.add (local.get $y) (local.get $down)))
    (f32.store (local.get $y) (f32.add (call $sum (local.get $sum1)) (f32x4.extract_lane 1 (local.get $least1))))
    (local.set $y (i32.add (local.get $y) (local.get $down)))
    (f32.store (local.get $y) (f32.add (call $sum (local.get $sum2)) (f32x4.extract_lane 1 (local.get $least2)))))

  ;; y (rows, out) = x (rows, n blocks of activations) · wᵀ, w (out, n blocks); eight: w is Q8_0, else Q4_1.
  (func (export "product") (param $w i32) (param $x i32) (param $y i32) (param $rows i32) (param $out i32)
    (param $n i32) (param $eight i32)
    (local $o i32) (local $left i32) (local $xi i32) (local $yi i32) (local $next i32) (local $down i32)
    (local.set $next (i32.mul (local.get $n) (i32.const 80)))
    (local.set $down (i32.mul (local.get $out) (i32.const 4)))
    (loop $outputs
      (local.set $xi (local.get $x))
      (local.set $yi (i32.add (local.get $y) (i32.mul (local.get $o) (i32.const 4))))
      (local.set $left (local.get $rows))
      (loop $each
        (if (i32.and (i32.ge_s (local.get $left) (i32.const 3)) (i32.eqz (local.get $eight)))
          (then
            (call $three (local.get $w) (local.get $xi) (local.get $next) (local.get $n) (local.get $yi) (local.get $down))
            (local.set $xi (i32.add (local.get $xi) (i32.mul (local.get $next) (i32.const 3))))
            (local.set $yi (i32.add (local.get $yi) (i32.mul (local.get $down) (i32.const 3))))
            (local.set $left (i32.sub (local.get $left) (i32.const 3))))
          (else
            (f32.store (local.get $yi) (if (result f32) (local.get $eight)
              (then (call $q8_0 (local.get $w) (local.get $xi) (local.get $n)))
              (else (call $q4_1 (local.get $w) (local.get $xi) (local.get $n)))))
            (local.set $xi (i32.add (local.get $xi) (local.get $next)))
            (local.set $yi (i32.add (local.get $yi) (local.get $down)))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))))
        (br_if $each (local.get $left)))
      (local.set $w (i32.add (local.get $w)
        (i32.mul (local.get $n) (select (i32.const 34) (i32.const 20) (local.get $eight)))))
      (br_if $outputs (i32.lt_s (local.tee $o (i32.add (local.get $o) (i32.const 1))) (local.get $out))))))
