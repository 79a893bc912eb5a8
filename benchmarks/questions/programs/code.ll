define i32 @sum(ptr %p, i32 %n) {
entry:
  %total = alloca i32
  store i32 0, ptr %total
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr i32, ptr %p, i32 %i
  %v = load i32, ptr %at
  %t = load i32, ptr %total
  %u = add i32 %t, %v
  store i32 %u, ptr %total
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  %result = load i32, ptr %total
  ret i32 %result
}
