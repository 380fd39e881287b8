# Weight files that must not be loaded: one clear sentence each, exit code 1.
engram model mlp --set depth=0 --input 1x1x2 --classes 1 --save good.st
# How long a header is depends on the version in its notes.
load() {
    fails 1 engram model mlp --set depth=0 --input 1x1x2 --classes 1 --load "$1" |
        sed -E 's/says [0-9]{3} bytes/says N bytes/; s/has [0-9]{3}$/has N/'
}
size=$(wc -c <good.st)

echo "not there"
load missing.st

echo "truncated"
head -c $((size - 1)) good.st >data.st
head -c 20 good.st >header.st
head -c 7 good.st >length.st
: >empty.st
load data.st
load header.st
load length.st
load empty.st

echo "a lying header"
cp good.st longer.st
patch longer.st 0 '\xff\xff\xff\xff\xff\xff\xff\x7f'
load longer.st
bias='"head.bias":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
data='\0\0\0\0\0\0\0\0\0\0\0\0'
lie() {
    { header "{$bias,\"head.weight\":$1}"; printf "$data"; } >lie.st
    load lie.st
}
lie '{"dtype":"F32","shape":[1,2],"data_offsets":[4,1000000]}'
lie '{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}'
lie '{"dtype":"F32","shape":[1,2],"data_offsets":[12,4]}'
lie '{"dtype":"F32","shape":[1,3],"data_offsets":[4,12]}'
lie '{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[4,12]}'
lie '{"dtype":"F99","shape":[1,2],"data_offsets":[4,12]}'
lie '{"dtype":"F32","shape":[1,-2],"data_offsets":[4,12]}'
lie '12'
{ header 'no json'; printf "$data"; } >words.st
load words.st

echo "not finite"
cp good.st nan.st
patch nan.st $((size - 4)) '\x00\x00\xc0\x7f'
load nan.st
cp good.st infinite.st
patch infinite.st $((size - 12)) '\x00\x00\x80\xff'
load infinite.st

echo "of another network"
engram model mlp --set depth=0 --input 1x2x2 --classes 1 --save wider.st
load wider.st
engram model cnn-small --save other.st
load other.st
fails 1 engram model mlp --load good.st
fails 1 engram model cnn --input 3x32x32 --load other.st

echo "not to be written"
fails 1 engram model mlp --save no/such/folder.st
