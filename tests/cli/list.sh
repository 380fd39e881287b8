engram list models
engram list optimisers
engram list ops | sed -n '1,5p'
