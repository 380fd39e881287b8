# Without a model the linear network learns as it was asked to: twice, and with a rate of 0 nothing.
{ engram train --epochs 2 --lr 0 || true; } |
    awk '/^  epoch/ { print "epoch", $2, !before || $3 == before ? "as before" : $3; before = $3 }
         /epoch 2/ { exit }'
