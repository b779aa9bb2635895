"""The splits of UMLS in the repository of RNNLogic, in which its RotatE models were trained and evaluated.

They divide the same 6,529 triples as the usual splits, in another way: 1,959 train, 1,306 valid, 3,264 test. Source:
the files ``data/umls/train.txt`` (without the inverse triples that one version adds) and ``valid.txt`` of
github.com/DeepGraphLearning/RNNLogic. `CODES` holds one digit for each triple, in the order of the sorted triples: 0 is
train, 1 valid, 2 test; five digits make a byte (the first digit is the lowest of base 3), and the bytes are in base85.
"""

import base64

SPLITS = ("train", "valid", "test")
CODES = (
    "&hB!m!UA_t0O=rY*R-hX6srK1IqB>S@qijL7nACtp-{Ul6uRm`-rDNKK|ZG)8tw7d@dw=y&AdCsKHs%Skw~G&rckw>m*+?{E6`lmJCYkc?VwQ3"
    "J!_<0?CDB(oCUwzOPjpW;7_ECx!o6I)$;EY;Oec9;JTRc>5VIO-m~tTsm;G*6-tff74n1+wri1bMc_f2OWsr8%a2fX>dl_;G8Utuvqz~)2e;p#"
    "on-Q);S%!f0{~O-3s1K=;GgW+t3IFUH=(-YxrasX)biI0#4qv~hX@F?w(#<{@S)&GimDW+1Jy;0*}M@4i9X$6^3K6E(Yy^BG80X<@#HQS@540g"
    "PM*j$8tL6m-iMVZQ^io;@S^geKJ7|3+M-Tnn5sVA@~1^&v5)VxninD6)bN?G+zj6DbcUK{YEM2+tIZ}YZmH_#ijfHL<<S@-@=o0pVYct25m7nO"
    "<MBYs?@P0^-sz{EyjN?|Mdp^feZr~~2({IjsW(c_?A90SPN$w-rLD}rP)?mV-e}|CyJevrv^}&=w(Yw|w8h=3*{IjI+C|*r>9$ZlH`f@x1!@~9"
    "(7Hu`vp(#*WU++m*sDtFFS)5j>rJ0zCheFSJl@}=kGfDMn=c8Q9T)0NjZX6G=%Da-+t;Z)XjY%P>4ck6>AE$H>)`CL)}$i5MY-+~iJ#tA$XRzB"
    ">>#RYmIcv-;4)39>=yx_SSJ`G*YHqBSxOY?>V@PP-!|!~welul?QEFiPBj2c=ja(t=iW*n@$!#9nBeFu^75EtR`TgK2HuYopEX1pMM%3L%7CG~"
    "y1WAF57@c2+ZeR3q6UeV0Y{JEGqd1O#;pk1A)tPbNJvLUPTJz~y1S;=O>5EYPUo7K!|Tzq7;DN)@!;6z?5gnSso~^hTCyha7e1ZZWJ97Xw&04S"
    "b9zWc?%<Ew=HT7a7wqckuG=*`y9ih>P<_}}-!38TP~ACcP)4&(>$sh|)TJ5kP!!c2Cb{X_Pn&+a&^F)-0>er^(LR{(?eMy??5p6IxYe-%P^V3Y"
    "D>VW+HQ?S#*Gk^!NbnfiQyRuTzR%I=)a3~Bjv?@AB}-$ZxbX^5=<g6nFYLJ&i9Kr_@=&W8*R{Ld^4huTRgYTj>fWlnNiXi3&6tU<%VLIZNj@@O"
    "mgy6ZMW4lrq1T3_@1Emar;m&{AY$pM^68bIsH;)sys$)%@gYv`GB@wzxY#XIL9OiaQxD(Kiq^9?;KoSZYf$RC2kpb{w&>8#*X%&-x{31g#RzFF"
    "?$J>2O*gzyq3#&oM&7&D@T*~=WzU`R&OuO*p*G7Fx6e?fgcs~hnDVIIvf$_B5#Pnubj=aq7vwnd@kyw=h@II;KI_guKxb*}Ht(L@O5Rbw?LIzh"
    ";NGM-HwU(8+oRHifEW=GG!db(@QxZ8NbsuQz(GpdKHM7H60$Y%uIk@6(K(IR)VoC5P@PBG=olV>Sda2PqK@+Cf~c2Av^b{%Su>j#I6CatCZQx4"
    "wADSerr5W;fbl;?+Bg^QjG>Lf@VD3T#x=vdyz#d+EZ0u)8oRZ-OJSj{IFU#hIAUuKJ)XMc<}+tkw^)G0$Z@LaTxs!1i|<Od)YtG(<mVb7^6ayq"
    "PSqNk)px+Vk4kh<7@?=}-r05D@E1<Yr}BBB(cWqm@EEpDzq7k(7#&2qui&cjJKVgy@$XN_>P^M(nckT2P4cnqYHN(Dx;+"
)


def splits_of(triples):
    """Map the name of each split to its triples; `triples` are all 6,529 triples of UMLS, as tuples of labels."""
    digits = [byte // 3**k % 3 for byte in base64.b85decode(CODES) for k in range(5)]
    parts = {name: [] for name in SPLITS}
    for triple, digit in zip(sorted(triples), digits):
        parts[SPLITS[digit]].append(triple)
    return parts
