/* Regions that do nothing, at three places and in another region, for what their marks cost. */
#define PTI_ENABLED 1
#include "pti.h"

int main(void) {
    PTI_REGION_BEGIN(outer, "outer");
    for (int i = 0; i < 5; i++) {
        PTI_REGION_BEGIN(empty, "empty");
        PTI_REGION_END(empty);
    }
    PTI_REGION_END(outer);
    PTI_REGION_BEGIN(again, "empty");
    PTI_REGION_END(again);
    return 0;
}
