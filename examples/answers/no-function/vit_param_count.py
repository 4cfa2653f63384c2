count = 86567656
print(count)
